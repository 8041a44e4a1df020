// refused: policies to choose from have one order of additions
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
struct by_k {
    template <class Product>
    static constexpr kq::policy_list<2> policies() {
        return {{kq::policies::warp, kq::policies::subwarp<8>}};
    }
    template <class Product>
    static constexpr int choose(const kq::product_sizes& sizes, const kq::device_facts&,
                                const kq::launch_options&) {
        return sizes.k < 1024 ? 1 : 0;
    }
};
template class kq::gemv<kq::q4_k, by_k{}>;
