# SPDX-License-Identifier: Apache-2.0
"""Products with GGUF's blocks from CuPy: NVRTC compiles kq's kernels, and NumPy checks them.

    python3 examples/cupy/multiply.py [--kq INCLUDE] [--cccl INCLUDE]

Tried with CuPy 14, which brings CCCL's headers.
"""

import argparse
import pathlib
import sys

import cupy as cp
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
import ggml_blocks

WARPS = 8
ROWS = 2
ELEMENTS = {"float32": "float", "float16": "kq::f16"}


class Kq:
    """kq's kernels for some encodings, compiled for the current device at their first use."""

    def __init__(self, encodings, includes):
        # CuPy says itself that functions are the device's. Its cache does not see that headers
        # changed: set CUPY_CACHE_IN_MEMORY=1 while you edit them.
        self._module = cp.RawModule(
            code=(HERE / "kernels.cu").read_text(encoding="utf-8"),
            options=("-std=c++20", f"-DKQ_WARPS={WARPS}", f"-DKQ_ROWS={ROWS}")
            + tuple(f"-I{path}" for path in includes),
            backend="nvrtc",
            name_expressions=[
                name
                for e in encodings
                for name in (self._multiply(e), *(self._quantize(e, t) for t in ELEMENTS))
            ],
        )

    @staticmethod
    def _quantize(encoding, dtype):
        return f"quantize<kq::{encoding}, {ELEMENTS[dtype]}>"

    @staticmethod
    def _multiply(encoding):
        return f"multiply<kq::{encoding}>"

    def matmul(self, x, weights, encoding):
        """x @ W.T in float32, on the current stream.

        x: [m, k] of float32 or float16. weights: uint8 [n, bytes of a row], as in the file.
        """
        (m, k), n = x.shape, weights.shape[0]
        if weights.shape[1] != ggml_blocks.row_bytes(encoding, k):
            raise ValueError(f"weights: rows of {k} weights of {encoding} have other lengths")
        if not (x.flags.c_contiguous and weights.flags.c_contiguous):
            raise ValueError("x and weights: must be contiguous")
        images = cp.empty(m * -(-k // 2048) * 2048 * 5 // 4, np.uint8)
        y = cp.empty((m, n), np.float32)
        multiprocessors = cp.cuda.Device().attributes["MultiProcessorCount"]
        # Thread blocks loop, so the numbers only have to keep the device busy.
        self._module.get_function(self._quantize(encoding, x.dtype.name))(
            (min(m * -(-k // (32 * WARPS)), 8 * multiprocessors),),
            (32 * WARPS,),
            (x, images, np.int64(m), np.int64(k)),
        )
        share = max(2 * multiprocessors // m, 1)
        self._module.get_function(self._multiply(encoding))(
            (m, min(-(-n // (ROWS * WARPS)), share)),
            (32 * WARPS,),
            (weights, images, y, np.int64(m), np.int64(n), np.int64(k)),
        )
        return y


def check(kq, encoding, dtype, m, n, k):
    """Whether a product is right: against the same with quantized activations in float64."""
    weights = ggml_blocks.random_weights(encoding, n, k)
    x = np.random.default_rng(2).standard_normal((m, k)).astype(dtype)
    y = cp.asnumpy(kq.matmul(cp.asarray(x), cp.asarray(weights), encoding))
    w = ggml_blocks.dequantize(encoding, weights).astype(np.float64).T
    expected = ggml_blocks.quantized_activation(encoding, x) @ w
    unquantized = ggml_blocks.nmse(y, x.astype(np.float64) @ w)
    nmse = ggml_blocks.nmse(y, expected)
    right = nmse < 1e-10 and unquantized < 1e-3
    print(
        f"{encoding} {dtype} m {m} n {n} k {k}: max error {abs(y - expected).max():.2e}, "
        f"NMSE {nmse:.1e}, unquantized {unquantized:.1e}, {'ok' if right else 'WRONG'}"
    )
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kq", default=HERE.parent.parent / "include", help="kq's include folder")
    parser.add_argument("--cccl", help="CCCL's headers, for a CuPy that does not bring them")
    arguments = parser.parse_args()
    encodings = ["q4_k", "q8_0"]
    kq = Kq(encodings, [path for path in (arguments.kq, arguments.cccl) if path is not None])
    outcomes = [
        check(kq, encoding, dtype, m, n, k)
        for encoding in encodings
        for dtype in ELEMENTS
        for m, n, k in ((1, 4096, 4096), (3, 1000, 768), (1, 1, 256))
    ]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
