# SPDX-License-Identifier: Apache-2.0
"""Products with GGUF's blocks from CuPy: NVRTC compiles kq's kernels, and NumPy checks them.

    python3 examples/cupy/multiply.py [--kq INCLUDE] [--cccl INCLUDE]
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
ELEMENTS = {"float32": "float", "float16": "kq::f16", "bfloat16": "kq::bf16"}


def include_folders(kq, cccl):
    """kq's headers, CCCL's where they are not CuPy's, and the toolkit's, which CCCL 3.5 includes."""
    toolkit = cp.cuda.get_cuda_path()
    folders = [kq, cccl, None if toolkit is None else pathlib.Path(toolkit) / "include"]
    return [folder for folder in folders if folder is not None]


class Kq:
    """kq's kernels for some encodings, compiled for the current device at their first use."""

    def __init__(self, encodings, includes):
        self._encodings = tuple(encodings)
        self._multiprocessors = cp.cuda.Device().attributes["MultiProcessorCount"]
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
    def _quantize(encoding, element):
        return f"quantize<kq::{encoding}, {ELEMENTS[element]}>"

    @staticmethod
    def _multiply(encoding):
        return f"multiply<kq::{encoding}>"

    def _check(self, x, weights, encoding, element):
        """Raises ValueError for arguments that cannot be multiplied."""
        if encoding not in self._encodings:
            raise ValueError(f"encoding: must be one of {', '.join(self._encodings)}")
        for name, array in (("x", x), ("weights", weights)):
            if not (isinstance(array, cp.ndarray) and array.ndim == 2 and array.flags.c_contiguous):
                raise ValueError(f"{name}: must be a contiguous CuPy array of two dimensions")
            current = cp.cuda.Device().id
            if array.device.id != current:
                raise ValueError(
                    f"{name}: must be on the current device, {current}, not on {array.device.id}"
                )
        stored = "uint16" if element == "bfloat16" else element
        if element not in ELEMENTS or x.dtype.name not in (element, stored):
            raise ValueError(
                "x: must be float32, float16, or bfloat16 as uint16 with element='bfloat16', "
                f"not {x.dtype.name} with element={element!r}"
            )
        row_bytes = ggml_blocks.row_bytes(encoding, x.shape[1])  # refuses half a block
        if weights.dtype != np.uint8 or weights.shape[1] != row_bytes:
            raise ValueError(f"weights: must be uint8 with rows of {row_bytes} bytes for this k")
        alignment = ggml_blocks.alignment(encoding)
        if weights.data.ptr % alignment != 0:
            raise ValueError(f"weights: must be {alignment}-byte aligned")

    def matmul(self, x, weights, encoding, element=None):
        """x @ W.T in float32, on the current stream.

        x: [m, k] of float32, float16 or bfloat16. weights: uint8 [n, bytes of a row], as in the
        file. element: what x holds, by default its dtype; "bfloat16" where x is a view of its bits
        as uint16.
        """
        element = x.dtype.name if element is None else element
        self._check(x, weights, encoding, element)
        (m, k), n = x.shape, weights.shape[0]
        if 0 in (m, n, k):
            return cp.zeros((m, n), np.float32)
        images = cp.empty(m * -(-k // 2048) * 2048 * 5 // 4, np.uint8)
        y = cp.empty((m, n), np.float32)
        # Thread blocks loop, so the numbers only have to keep the device busy.
        self._module.get_function(self._quantize(encoding, element))(
            (min(m * -(-k // (32 * WARPS)), 8 * self._multiprocessors),),
            (32 * WARPS,),
            (x, images, np.int64(m), np.int64(k)),
        )
        share = max(2 * self._multiprocessors // m, 1)
        self._module.get_function(self._multiply(encoding))(
            (m, min(-(-n // (ROWS * WARPS)), share)),
            (32 * WARPS,),
            (weights, images, y, np.int64(m), np.int64(n), np.int64(k)),
        )
        return y


def report(what, right):
    print(f"{what}: {'ok' if right else 'WRONG'}")
    return right


def activation(element, m, k, seed=2):
    """Random rows: as they are stored, and their values as float32."""
    x = np.random.default_rng(seed).standard_normal((m, k))
    if element == "bfloat16":  # NumPy has none: the upper halves of float32
        bits = (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return bits, (bits.astype(np.uint32) << 16).view(np.float32)
    return x.astype(element), x.astype(element).astype(np.float32)


def check_product(kq, encoding, element, m, n, k):
    """Against the same with quantized activations in float64."""
    weights = ggml_blocks.random_weights(encoding, n, k)
    stored, x = activation(element, m, k)
    y = cp.asnumpy(kq.matmul(cp.asarray(stored), cp.asarray(weights), encoding, element))
    w = ggml_blocks.dequantize(encoding, weights).astype(np.float64).T
    expected = ggml_blocks.quantized_activation(encoding, x) @ w
    unquantized = ggml_blocks.nmse(y, x.astype(np.float64) @ w)
    enough = y.size >= 256  # outputs for a mean: of a few, one that is near 0 decides
    nmse = ggml_blocks.nmse(y, expected)
    return report(
        f"{encoding} {element} m {m} n {n} k {k}: max error {abs(y - expected).max():.2e}, "
        f"NMSE {nmse:.1e}, unquantized {unquantized:.1e}",
        nmse < 1e-10 and (unquantized < 1e-3 or not enough),
    )


def check_graph(kq, encoding, n, k):
    """A captured product multiplies what x holds when the graph is launched."""
    weights = cp.asarray(ggml_blocks.random_weights(encoding, n, k))
    x, other = (cp.asarray(activation("float16", 2, k, seed)[0]) for seed in (3, 4))
    expected = kq.matmul(other, weights, encoding)  # also loads what a capture cannot
    cp.cuda.Device().synchronize()
    pool = cp.cuda.MemoryPool()  # the graph's own: it writes to images that are free by then
    with cp.cuda.Stream(non_blocking=True) as stream, cp.cuda.using_allocator(pool.malloc):
        stream.begin_capture()
        y = kq.matmul(x, weights, encoding)
        graph = stream.end_capture()
        x[...] = other
        graph.launch(stream)
        stream.synchronize()
    right = np.array_equal(cp.asnumpy(y), cp.asnumpy(expected))
    return report(f"{encoding} in a CUDA graph, launched with another x", right)


def check_refusals(kq):
    """Wrong arguments raise a ValueError that names one of them."""
    n, k = 64, 512
    x = cp.asarray(activation("float32", 2, k)[0])
    w = cp.asarray(ggml_blocks.random_weights("q4_k", n, k))
    elsewhere = []
    devices = cp.cuda.runtime.getDeviceCount()
    if devices > 1:
        on_host = cp.asnumpy(x), cp.asnumpy(w)
        with cp.cuda.Device((cp.cuda.Device().id + 1) % devices):
            x_elsewhere, w_elsewhere = map(cp.asarray, on_host)
        elsewhere = [
            ("an x elsewhere", "x: must be on the current device", (x_elsewhere, w, "q4_k")),
            ("weights elsewhere", "weights: must be on the current", (x, w_elsewhere, "q4_k")),
        ]
    else:
        print("arrays of another device: not tried, there is one GPU")
    off_by_one = cp.empty(w.size + 1, np.uint8)[1:].reshape(w.shape)
    right = True
    for what, words, arguments in (
        ("half a block", "k: must be a multiple of 256", (x[:, :384].copy(), w, "q4_k")),
        ("a float64 x", "x: must be float32", (x.astype(np.float64), w, "q4_k")),
        ("a uint16 x", "x: must be float32", (x.astype(np.uint16), w, "q4_k")),
        ("float32 as bfloat16", "x: must be float32", (x, w, "q4_k", "bfloat16")),
        ("an x of columns", "x: must be a contiguous", (x.T.copy().T, w, "q4_k")),
        ("an x of NumPy", "x: must be a contiguous", (cp.asnumpy(x), w, "q4_k")),
        ("weights of another k", "weights: must be uint8", (x[:, :256].copy(), w, "q4_k")),
        ("weights off alignment", "weights: must be 16-byte", (x, off_by_one, "q4_k")),
        ("an encoding not compiled", "encoding: must be one of", (x, w, "q6_k")),
        *elsewhere,
    ):
        try:
            kq.matmul(*arguments)
            message = "no error"
        except ValueError as e:
            message = str(e)
        right &= report(f"{what} is refused: {message!r}", message.startswith(words))
    for m, rows in ((0, n), (2, 0)):
        y = kq.matmul(x[:m], w[:rows], "q4_k")
        right &= report(f"m {m} n {rows} gives {list(y.shape)}", y.shape == (m, rows))
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kq", default=HERE.parent.parent / "include", help="kq's include folder")
    parser.add_argument("--cccl", help="CCCL's headers, for a CuPy that does not bring them")
    arguments = parser.parse_args()
    encodings = ["q4_k", "q8_0"]
    kq = Kq(encodings, include_folders(arguments.kq, arguments.cccl))
    outcomes = [
        check_product(kq, encoding, element, m, n, k)
        for encoding in encodings
        for element in ELEMENTS
        for m, n, k in ((1, 4096, 4096), (3, 1000, 768), (1, 1, 256))
    ]
    outcomes += [check_graph(kq, encoding, 512, 1024) for encoding in encodings]
    outcomes.append(check_refusals(kq))
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
