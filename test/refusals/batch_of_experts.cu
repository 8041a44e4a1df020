// refused: a batch of activation rows needs the dense or the stacked mapping
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
template struct kq::gemv<kq::q4_k, kq::policies::batch<4>, kq::mappings::grouped>;
