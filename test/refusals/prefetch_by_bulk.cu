// refused: policy.direct.prefetch must be 1 where weights come by bulk copies
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
template class kq::gemv<kq::q4_k, kq::with_method(kq::policies::prefetch<2>, kq::method::bulk)>;
