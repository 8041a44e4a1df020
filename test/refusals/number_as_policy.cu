// refused: the second argument of gemv is a policy or a policy_selector
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
template class kq::gemv<kq::q4_k, 4>;
