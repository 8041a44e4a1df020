// SPDX-License-Identifier: Apache-2.0
#include "products.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <string>
#include <utility>
#include <vector>

namespace {

products::element element_of(const at::Tensor& x) {
    switch (x.scalar_type()) {
    case at::kFloat:
        return products::element::f32;
    case at::kHalf:
        return products::element::f16;
    case at::kBFloat16:
        return products::element::bf16;
    default:
        TORCH_CHECK_VALUE(false, "x: must be float32, float16 or bfloat16, not ", x.scalar_type());
    }
}

// Messages are made of strings: a number in a stream crashed where the compiler had linked a C++
// library of the operator's own, beside PyTorch's.

std::string text(at::IntArrayRef shape) {
    std::string sizes;
    for (const int64_t size : shape) {
        sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    }
    return "[" + sizes + "]";
}

void check(const at::Tensor& x, const at::Tensor& packed_weight, int64_t weight_bytes,
           bool needs_gradient) {
    TORCH_CHECK_VALUE(packed_weight.scalar_type() == at::kByte,
                      "packed_weight: must be uint8, not ", packed_weight.scalar_type());
    TORCH_CHECK_VALUE(packed_weight.numel() == weight_bytes, "packed_weight: must have ",
                      std::to_string(weight_bytes), " bytes for this n and k, not ",
                      std::to_string(packed_weight.numel()));
    TORCH_CHECK_VALUE(x.is_contiguous(), "x: must be contiguous");
    TORCH_CHECK_VALUE(packed_weight.is_contiguous(), "packed_weight: must be contiguous");
    TORCH_CHECK_VALUE(x.is_cuda(), "x: must be on a CUDA device, not on ", x.device());
    TORCH_CHECK_VALUE(packed_weight.device() == x.device(), "packed_weight: must be on x's ",
                      x.device(), ", not on ", packed_weight.device());
    TORCH_CHECK_VALUE(!needs_gradient && !(x.requires_grad() && at::GradMode::is_enabled()),
                      "x: there is no gradient, call kq.matmul under torch.no_grad()");
}

/// x [..., k] times the transpose of the weights [n, k].
/// `needs_gradient`: what a compiled program hides from the operator, since it runs without
/// gradients.
at::Tensor matmul(const at::Tensor& x, const at::Tensor& packed_weight, std::string encoding,
                  int64_t n, int64_t k, bool needs_gradient) {
    TORCH_CHECK_VALUE(x.dim() >= 1 && x.size(-1) == k, "x: its last dimension must be k, ",
                      std::to_string(k), ", and its shape is ", text(x.sizes()));
    std::vector<int64_t> shape = x.sizes().vec();
    shape.back() = n;
    products::product p{.encoding = std::move(encoding),
                        .m = c10::multiply_integers(x.sizes().slice(0, x.dim() - 1)),
                        .n = n,
                        .k = k,
                        .type = element_of(x)};
    const products::sizes bytes = products::sizes_of(p);
    check(x, packed_weight, bytes.weights, needs_gradient);

    const c10::cuda::CUDAGuard guard(x.device());
    const at::Tensor y = at::empty(shape, x.options());
    // Freed on return: the allocator lends it again to what follows on this stream only.
    const at::Tensor workspace = at::empty({bytes.workspace}, x.options().dtype(at::kByte));
    p.x = x.const_data_ptr();
    p.weights = packed_weight.const_data_ptr();
    p.y = y.mutable_data_ptr();
    products::launch(p, workspace.mutable_data_ptr(), bytes.workspace,
                     c10::cuda::getCurrentCUDAStream());
    return y;
}

} // namespace

TORCH_LIBRARY(kq, library) {
    // SymInt: n and k may vary in one compiled graph. The tag: inductor leaves x contiguous;
    // without it PyTorch 2.4 and 2.5 choose x's layout themselves.
    library.def("matmul(Tensor x, Tensor packed_weight, str encoding, SymInt n, SymInt k, "
                "bool needs_gradient=False) -> Tensor",
                {at::Tag::needs_fixed_stride_order});
}

TORCH_LIBRARY_IMPL(kq, CUDA, library) {
    library.impl("matmul", &matmul);
}

// Says in kq's words what is wrong.
TORCH_LIBRARY_IMPL(kq, CPU, library) {
    library.impl("matmul", &matmul);
}
