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


def activation_values(encoding, q8):
    """The values of blocks of q8_0 or q8_k."""
    if encoding == "q8_0":
        blocks = np.frombuffer(q8, [("d", "<f2"), ("q", "i1", 32)])
    else:
        blocks = np.frombuffer(q8, [("d", "<f4"), ("q", "i1", 256), ("sums", "<i2", 16)])
    return (blocks["q"] * blocks["d"].astype(np.float64)[:, None]).ravel()


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
        np.testing.assert_array_equal(
            ggml_blocks.quantized_activation(encoding, x).ravel(),
            activation_values(encoding, case["activation_q8"]),
            where,
        )
        compared += 1
print(f"{compared} cases compared")
