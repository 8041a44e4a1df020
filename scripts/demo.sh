#!/usr/bin/env bash
# Sets up, builds the tool and multiplies the tensors of a GGUF file, checking every product.
#   scripts/demo.sh [MODEL.gguf]
# Without a model: a synthetic one that covers every encoding. Runs on the GPU where there is one,
# else on the host model; the tool says which.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
model=${1:-}
case $model in
"" | /*) ;;
*) model=$here/$model ;;
esac
source scripts/install-dependencies.sh demo

few=() # kernels, where none will run
if ! nvidia-smi -L > /dev/null 2>&1; then
    few=(-DKQ_TUNED_ENCODINGS=q4_k -DKQ_ARCHITECTURES_WITHOUT_GPU=90)
fi
cmake --preset gpu "${few[@]}"
cmake --build --preset gpu --target gguf_gemv
build/gpu/bin/gguf_gemv ${model:+"$model"} --check
