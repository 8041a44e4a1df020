# SPDX-License-Identifier: Apache-2.0
"""Passes where the CuPy example refuses arrays of another device than the current one by name. CuPy is
a stand-in made of NumPy, since it does not import without a GPU. Exit code 77 where there is no NumPy.
Run from the project's root."""

import sys
import types

try:
    import numpy as np
except ImportError:
    print("there is no NumPy")
    sys.exit(77)


class Array(np.ndarray):
    """An array that says which device it is on."""

    device = None  # NumPy's own cannot be set

    def on(self, device):
        self.device = types.SimpleNamespace(id=device)
        return self


cupy = types.ModuleType("cupy")
cupy.ndarray = Array
cupy.cuda = types.SimpleNamespace(Device=lambda: types.SimpleNamespace(id=1))
sys.modules["cupy"] = cupy
sys.path.insert(0, "examples/cupy")
import multiply

kq = object.__new__(multiply.Kq)  # without kernels
kq._encodings = ("q8_0",)


def refusal(x_device, weights_device):
    x = np.zeros((2, 32), np.float32).view(Array).on(x_device)
    weights = np.zeros((3, 33), np.uint8).view(Array).on(weights_device)  # a wrong size
    try:
        kq._check(x, weights, "q8_0", "float32")
    except ValueError as e:
        return str(e)
    return "no error"


failed = False
for devices, words in (
    ((0, 1), "x: must be on the current device, 1, not on 0"),
    ((1, 2), "weights: must be on the current device, 1, not on 2"),
    ((1, 1), "weights: must be uint8 with rows of 34 bytes for this k"),
):
    message = refusal(*devices)
    print(message)
    failed |= message != words
sys.exit(failed)
