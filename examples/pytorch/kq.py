# SPDX-License-Identifier: Apache-2.0
"""Products with GGUF's blocks as a PyTorch operator. The first import compiles it."""

import pathlib

import torch
from torch.utils import cpp_extension

_HERE = pathlib.Path(__file__).resolve().parent

cpp_extension.load(
    name="kq_pytorch",
    sources=[str(_HERE / "matmul.cpp"), str(_HERE / "products.cu")],
    extra_include_paths=[str(_HERE.parent.parent / "include")],
    extra_cflags=["-std=c++20", "-O2"],
    extra_cuda_cflags=["-std=c++20", "-O2"],
    is_python_module=False,
)


@torch.library.register_fake("kq::matmul")
def _(x, packed_weight, encoding, n, k, needs_gradient=False):
    torch._check(x.shape[-1] == k, lambda: f"x: its last dimension must be k, {k}")
    return x.new_empty((*x.shape[:-1], n))


def matmul(x, packed_weight, encoding, n, k):
    """x [..., k] times the transpose of quantized weights [n, k]: [..., n] of x's dtype.

    x: float32, float16 or bfloat16, contiguous, on a CUDA device. packed_weight: uint8, the
    tensor's bytes as in the GGUF file, row after row, on the same device. encoding: "q4_k", "q6_k"
    or "q8_0"; products.cu has the list.

    Runs on the current stream and synchronizes nothing; can be captured in a CUDA graph and
    compiled by torch.compile. Has no gradient. Raises ValueError, which names the argument, and
    RuntimeError where CUDA fails; for a gradient also when a compiled program runs.
    """
    needs_gradient = x.requires_grad and torch.is_grad_enabled()
    return torch.ops.kq.matmul(x, packed_weight, encoding, n, k, needs_gradient)
