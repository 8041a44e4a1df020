// refused: a weighted sum needs the grouped mapping
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
template struct kq::gemv<kq::q4_k, kq::policies::warp, kq::mappings::dense,
                         kq::epilogues::weighted_sum>;
