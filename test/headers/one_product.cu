// All kernels of one product: its two transports, the quantizer for three types.
#include <kq/kq.cuh>
template struct kq::gemv<kq::q4_k>;
