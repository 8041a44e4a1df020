// refused: the policy's fields are out of range
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
template struct kq::gemv<kq::q4_k, kq::policy{.lanes = 4}>;
