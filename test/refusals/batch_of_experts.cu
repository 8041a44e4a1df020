// refused: policy.batch must be 1 unless the mapping is dense or stacked
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
#include <kq/gemv/mapping/experts.hpp>
template class kq::gemv<kq::q4_k, kq::policies::batch<4>, kq::mappings::experts>;
