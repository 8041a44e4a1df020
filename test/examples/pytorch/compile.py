# SPDX-License-Identifier: Apache-2.0
"""Passes where the PyTorch operator's binding compiles with PyTorch's headers, without a warning, and
calls what the object of products.cu defines. Exit code 77 where there is no PyTorch that the example
takes. Nothing of PyTorch is run. Run from the project's root.

compile.py COMPILER PRODUCTS_OBJECT OUTPUT_OBJECT CUDA_INCLUDE_FOLDER...
"""

import importlib.util
import pathlib
import re
import subprocess
import sys

compiler, products, output, *cuda_includes = sys.argv[1:]


def skip(why):
    print(why)
    sys.exit(77)


def operators_symbols(file, which):
    lines = subprocess.run(["nm", "-C", which, file], check=True, stdout=subprocess.PIPE, text=True)
    return set(re.findall(r"^[0-9a-f ]* [TU] (products::.*)$", lines.stdout, re.MULTILINE))


sys.path.append("build/pytorch")  # where scripts/install-dependencies.sh puts it
found = importlib.util.find_spec("torch")
if found is None:
    skip("there is no PyTorch")
folder = pathlib.Path(found.origin).parent
version = re.search(r"__version__ = '(\d+)\.(\d+)", (folder / "version.py").read_text())
name = f"PyTorch {version[1]}.{version[2]} in {folder}"
if (int(version[1]), int(version[2])) < (2, 4):
    skip(f"{name} is too old, the example needs 2.4")
include = folder / "include"
if not (include / "torch/library.h").exists():
    skip(f"{name} has no headers")
# Where PyTorch was built without CUDA it lacks one header, and this leaves that out.
whole = (include / "c10/cuda/impl/cuda_cmake_macros.h").exists()
macros = [] if whole else ["-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE"]

print(name, flush=True)
folders = [word for path in (include, *cuda_includes) for word in ("-isystem", path)]
subprocess.run([compiler, "-std=c++20", "-fPIC", "-Wall", "-Wextra", "-Werror", *macros, *folders,
                "-c", "examples/pytorch/matmul.cpp", "-o", output], check=True)
called = operators_symbols(output, "--undefined-only")
missing = called - operators_symbols(products, "--defined-only")
print(f"{len(called)} functions of products.cu called, not defined there: {sorted(missing)}")
sys.exit(not called or bool(missing))
