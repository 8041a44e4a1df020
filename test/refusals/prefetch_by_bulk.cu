// refused: register prefetch does not go with the bulk transport
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
template struct kq::gemv<kq::q4_k, kq::by(kq::policies::prefetch<2>, kq::transport::bulk)>;
