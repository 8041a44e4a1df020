// refused: a weighted sum needs the experts mapping
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
template class kq::gemv<kq::q4_k, kq::policies::warp, kq::mappings::dense,
                        kq::epilogues::weighted_sum>;
