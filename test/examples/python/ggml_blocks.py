# SPDX-License-Identifier: Apache-2.0
"""Passes where the Python examples' blocks give the numbers of ggml's golden files. Exit code 77
where there is no NumPy. Run from the project's root."""

import sys

try:
    import numpy as np
except ImportError:
    print("there is no NumPy")
    sys.exit(77)

sys.path.insert(0, "examples/python")
import ggml_blocks


def cases(encoding):
    """The arrays of each case of a golden file, as bytes, and its sizes."""
    case = {}
    with open(f"test/data/golden/{encoding}.txt", encoding="ascii") as file:
        for line in file:
            key, _, value = line.strip().partition(" ")
            if key == "case" and case:
                yield case
            if key == "case":
                case = {"name": value}
            elif case and key in ("n", "m", "k"):
                case[key] = int(value)
            elif case and key:
                case[key] = bytes.fromhex(value)
    yield case


def activation_blocks(encoding, q8):
    """ggml's blocks of q8_0 or q8_k."""
    if encoding == "q8_0":
        return np.frombuffer(q8, [("d", "<f2"), ("q", "i1", 32)])
    return np.frombuffer(q8, [("d", "<f4"), ("q", "i1", 256), ("sums", "<i2", 16)])


compared = 0
for encoding in ggml_blocks.ENCODINGS:
    for case in cases(encoding):
        if "weight" not in case or "dequantized_f32" not in case:
            continue
        where = f"{encoding}, {case['name']}"
        weights = np.frombuffer(case["weight"], np.uint8).reshape(case["n"], -1)
        expected = np.frombuffer(case["dequantized_f32"], np.float32)
        values = ggml_blocks.dequantize(encoding, weights)
        np.testing.assert_array_equal(values.ravel(), expected, where)
        x = np.frombuffer(case["activation_f32"], np.float32).reshape(case["m"], -1)
        codes, d = ggml_blocks.quantize_activation(encoding, x)
        blocks = activation_blocks(encoding, case["activation_q8"])
        np.testing.assert_array_equal(codes.reshape(blocks["q"].shape), blocks["q"], where)
        stored = d.ravel().astype(blocks["d"].dtype)  # as ggml stores it
        np.testing.assert_array_equal(stored, blocks["d"], where)
        compared += 1
print(f"{compared} cases compared")
