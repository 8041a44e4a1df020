// The kernels of encodings that are read in different ways: both transports, the quantizers.
#include <kq/kq.cuh>
template class kq::gemv<kq::q4_k>;
template class kq::gemv<kq::q3_k>;
template class kq::gemv<kq::iq2_xxs>;
template class kq::gemv<kq::q8_0>;
