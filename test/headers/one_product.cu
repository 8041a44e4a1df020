// All kernels of one product: its two transports, the quantizer for three types.
#include <kq/kq.cuh>
template class kq::gemv<kq::q4_k>;
