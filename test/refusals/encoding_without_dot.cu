// refused: no decoder for this encoding
#include <kq/blocks/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
template class kq::gemv<kq::q4_k>; // dot/q4_k.hpp is missing
