// refused: the arguments are not those of this product's mapping, gemv::arguments
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
#include <kq/gemv/mapping/experts.hpp>
kq::status multiply(const kq::experts_arguments& a, kq::workspace space, cudaStream_t stream) {
    return kq::gemv<kq::q4_k>::launch(a, space, stream);
}
