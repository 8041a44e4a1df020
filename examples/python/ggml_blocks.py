# SPDX-License-Identifier: Apache-2.0
"""ggml's blocks in NumPy, as plainly as possible: what the Python examples compare with."""

import numpy as np

_BLOCKS = {
    "q8_0": np.dtype([("d", "<f2"), ("q", "i1", 32)]),
    "q4_k": np.dtype([("d", "<f2"), ("dmin", "<f2"), ("scales", "u1", 12), ("qs", "u1", 128)]),
    "q6_k": np.dtype([("ql", "u1", 128), ("qh", "u1", 64), ("scales", "i1", 16), ("d", "<f2")]),
}
_ELEMENTS = {"q8_0": 32, "q4_k": 256, "q6_k": 256}

ENCODINGS = list(_BLOCKS)


def row_bytes(encoding, k):
    """The bytes of a row of k weights."""
    if k % _ELEMENTS[encoding] != 0:
        raise ValueError(f"k: must be a multiple of {_ELEMENTS[encoding]}, the block, not {k}")
    return k // _ELEMENTS[encoding] * _BLOCKS[encoding].itemsize


def alignment(encoding):
    """The alignment in bytes that kq wants of weights: of a block, 16 at most."""
    size = _BLOCKS[encoding].itemsize
    return min(size & -size, 16)


def random_weights(encoding, n, k, seed=1):
    """Blocks of random bits with small finite scales: uint8 [n, row_bytes(encoding, k)]."""
    random = np.random.default_rng(seed)
    weights = random.integers(0, 256, (n, row_bytes(encoding, k)), dtype=np.uint8)
    blocks = weights.view(_BLOCKS[encoding])
    for scale in {"d", "dmin"} & set(blocks.dtype.names):
        blocks[scale] = random.uniform(-0.02, 0.02, blocks.shape)
    return weights


def dequantize(encoding, weights):
    """The weights that blocks stand for: uint8 [n, bytes] to float32 [n, k]."""
    values = _DEQUANTIZE[encoding](weights.view(_BLOCKS[encoding]))
    return values.reshape(weights.shape[0], -1)


def _f32(x):
    return x.astype(np.float32)[..., None]


def _dequantize_q8_0(b):
    return _f32(b["d"]) * b["q"]


def _dequantize_q4_k(b):
    low, middle, high = np.split(b["scales"], 3, axis=-1)
    scales = np.concatenate([low & 63, (high & 15) | (low >> 6 << 4)], axis=-1)
    minimums = np.concatenate([middle & 63, (high >> 4) | (middle >> 6 << 4)], axis=-1)
    qs = b["qs"].reshape(*b.shape, 4, 1, 32)
    codes = np.concatenate([qs & 15, qs >> 4], axis=-2).reshape(*b.shape, 8, 32)
    return (_f32(b["d"]) * scales)[..., None] * codes - (_f32(b["dmin"]) * minimums)[..., None]


def _dequantize_q6_k(b):
    ql = b["ql"].reshape(*b.shape, 2, 1, 64)
    low = np.concatenate([ql & 15, ql >> 4], axis=-2).reshape(*b.shape, 2, 4, 32)
    qh = b["qh"].reshape(*b.shape, 2, 1, 32)
    high = np.concatenate([qh >> shift & 3 for shift in (0, 2, 4, 6)], axis=-2)
    codes = (low | high << 4).astype(np.int8) - 32
    return (_f32(b["d"]) * b["scales"])[..., None] * codes.reshape(*b.shape, 16, 16)


_DEQUANTIZE = {"q8_0": _dequantize_q8_0, "q4_k": _dequantize_q4_k, "q6_k": _dequantize_q6_k}


def quantize_activation(encoding, x):
    """What x [m, k] becomes before it meets weights of an encoding: codes [m, blocks, elements] and
    scales [m, blocks, 1], float32. ggml stores the scales of 32 elements as f16, kq does not."""
    block = 32 if encoding == "q8_0" else 256
    x = x.astype(np.float32).reshape(x.shape[0], -1, block)
    at = np.abs(x).argmax(axis=-1, keepdims=True)
    extreme = np.take_along_axis(x, at, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if encoding == "q8_0":  # codes round halves away from zero
            d = np.abs(extreme) / np.float32(127)
            scaled = np.where(d == 0, 0, x * (1 / d))
            codes = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))
        else:  # the extreme element becomes -127, halves round to even
            inverse = np.float32(-127) / extreme
            codes = np.where(extreme == 0, 0, np.minimum(np.rint(inverse * x), 127))
            d = np.where(extreme == 0, 0, 1 / inverse)
    return codes, d


def quantized_activation(encoding, x):
    """The values of the quantized x [m, k]: codes times scales, as float64."""
    codes, d = quantize_activation(encoding, x)
    return (codes.astype(np.float64) * d.astype(np.float64)).reshape(x.shape[0], -1)


def nmse(y, expected):
    """The normalized mean squared error of y."""
    expected = expected.astype(np.float64)
    return float(((y - expected) ** 2).sum() / (expected**2).sum())
