#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the files beside this one, with the PyPI package gguf: what others write, kq must read.

    make.py [FOLDER]
"""
import pathlib
import struct
import sys

import numpy
from gguf import GGMLQuantizationType as types
from gguf import GGUFWriter, GGUFValueType, quants

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__ + "/..").resolve()


def counting(rows, columns):
    """Every number of row r is r + 1."""
    return numpy.repeat(numpy.arange(1, rows + 1, dtype=numpy.float32), columns).reshape(rows, columns)


def add(out, name, numbers, encoding):
    out.add_tensor(name, quants.quantize(numbers, encoding), raw_dtype=encoding)


def finish(out):
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def make_split():
    """Three shards: one without a tensor, as llama.cpp's converter makes it, and one for each weight."""
    out = GGUFWriter(folder / "split.gguf", "none", split_max_tensors=1, small_first_shard=True)
    add(out, "first.weight", counting(3, 32), types.Q8_0)
    add(out, "second.weight", counting(5, 64), types.Q4_0)
    finish(out)


def make_marked():
    """A weight, a marker without elements and a scalar."""
    out = GGUFWriter(folder / "marked.gguf", "none")
    out.add_tensor("__marker__", numpy.zeros(0, dtype=numpy.float32))
    add(out, "counting.weight", counting(3, 32), types.Q8_0)
    out.add_tensor("scale", numpy.float32(0.5).reshape(()))
    finish(out)


def make_mixed():
    """Tensors that kq multiplies beside ones that it does not, an array of arrays and other names."""
    path = folder / "mixed.gguf"
    out = GGUFWriter(path, "none")
    out.add_key_value("nested", [[1, 2], [3, 4]], GGUFValueType.ARRAY)
    out.add_tensor("norm.weight", numpy.ones(32, dtype=numpy.float32))
    add(out, "q4_1.weight", counting(3, 32), types.Q4_1)
    add(out, "q8_0.weight", counting(3, 32), types.Q8_0)
    out.add_tensor("conv.weight", numpy.ones((3, 2, 2, 1, 2), dtype=numpy.float32))
    out.add_tensor("unknown.weight", numpy.arange(50, dtype=numpy.int8))
    add(out, "\u5c42.0.weight", counting(3, 32), types.Q5_0)
    out.add_tensor("norm2.weight", numpy.ones(32, dtype=numpy.float32))
    finish(out)
    # The package writes no type that it does not know.
    image = path.read_bytes()
    name = b"unknown.weight" + struct.pack("<IQ", 1, 50)
    known = name + struct.pack("<I", types.I8)
    assert image.count(known) == 1
    path.write_bytes(image.replace(known, name + struct.pack("<I", 139)))


make_split()
make_marked()
make_mixed()
