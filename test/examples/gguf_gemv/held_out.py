# SPDX-License-Identifier: Apache-2.0
"""Passes where the tool's products are those of the PyPI package gguf, which shares nothing with kq:
for every encoding that it decodes, blocks of random bits and, where it has a quantizer, what that
makes of random numbers. Exit code 77 where the package is not there.

    held_out.py TOOL [OPTION OF THE TOOL...]
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from gguf import GGMLQuantizationType, GGUFWriter, quants
    from gguf.constants import GGML_QUANT_SIZES
except ImportError:
    print("there is no Python package gguf")
    sys.exit(77)

ENCODINGS = """Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ2_XXS IQ2_XS IQ3_XXS IQ1_S IQ4_NL
               IQ3_S IQ2_S IQ4_XS IQ1_M TQ1_0 TQ2_0 MXFP4 NVFP4""".split()
BOUND = 5e-4  # NMSE, of activations in 8 bits
n, k, m = 256, 1536, 3
random = np.random.default_rng(7)


def random_blocks(encoding):
    """Rows of random bytes: of 4096 blocks those whose weights are neither huge nor tiny."""
    elements, size = GGML_QUANT_SIZES[encoding]
    count = n * k // elements
    chosen = np.empty((0, size), np.uint8)
    while len(chosen) < count:
        blocks = random.integers(0, 256, (4096, size), dtype=np.uint8)
        with np.errstate(all="ignore"):
            most = np.abs(quants.dequantize(blocks, encoding)).max(axis=1)
        chosen = np.concatenate([chosen, blocks[(most > 0.1) & (most < 10)]])
    return chosen[:count].reshape(n, -1)


def product(tool, model, tensor, folder):
    """What the tool makes of the activation beside the model: float64 [m, n]."""
    output = folder / "output"
    ran = subprocess.run([*tool, str(model), "--tensor", tensor, "--activation",
                          str(folder / "activation"), "--output", str(output)],
                         capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{tensor}: the tool fails\n{ran.stdout}{ran.stderr}")
    return np.fromfile(output, "<f4").reshape(m, n).astype(np.float64)


failed = 0
with tempfile.TemporaryDirectory() as path:
    folder = pathlib.Path(path)
    x = random.standard_normal((m, k), dtype=np.float32)
    x.tofile(folder / "activation")
    tensors = {}
    for name in ENCODINGS:
        encoding = GGMLQuantizationType[name]
        tensors[f"{name.lower()}.random"] = random_blocks(encoding), encoding
        try:
            numbers = random.standard_normal((n, k), dtype=np.float32)
            tensors[f"{name.lower()}.quantized"] = quants.quantize(numbers, encoding), encoding
        except NotImplementedError:
            pass
    out = GGUFWriter(folder / "model.gguf", "none")
    for name, (data, encoding) in tensors.items():
        out.add_tensor(name, data, raw_dtype=encoding)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    for name, (data, encoding) in tensors.items():
        expected = x.astype(np.float64) @ quants.dequantize(data, encoding).astype(np.float64).T
        found = product(sys.argv[1:], folder / "model.gguf", name, folder)
        nmse = ((found - expected) ** 2).sum() / (expected**2).sum()
        failed += not nmse < BOUND
        print(f"{name}: NMSE {nmse:.1e}{'' if nmse < BOUND else ', above the bound'}")
print(f"{len(tensors) - failed} of {len(tensors)} products within NMSE {BOUND}")
sys.exit(failed != 0)
