// The kernels of encodings that are read in different ways: both transports, the quantizers.
#include <kq/kq.cuh>
template struct kq::gemv<kq::q4_k>;
template struct kq::gemv<kq::q3_k>;
template struct kq::gemv<kq::iq2_xxs>;
template struct kq::gemv<kq::q8_0>;
