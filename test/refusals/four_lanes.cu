// refused: policy.order.lanes must be 8, 16 or 32
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
template class kq::gemv<kq::q4_k, kq::policy{.order = {4}}>;
