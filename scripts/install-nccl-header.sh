#!/usr/bin/env bash
# Prints the folder of nccl.h: the machine's own, else that of PyPI's package, installed on the first
# call into the folder .cuda. NCCL's library is looked for when it is needed, not when we build.
set -euo pipefail
cd "$(dirname "$0")/.."

for folder in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/include; do
  if [[ -f $folder/nccl.h ]]; then
    echo "$folder"
    exit
  fi
done
if [[ ! -x .cuda/bin/python ]]; then
  scripts/install-packages.sh python >&2
  python3 -m venv .cuda >&2
fi
shopt -s nullglob
headers=(.cuda/lib/python3*/site-packages/nvidia/nccl/include/nccl.h)
if [[ ${#headers[@]} -eq 0 ]]; then
  .cuda/bin/pip install --quiet nvidia-nccl-cu13 >&2
  headers=(.cuda/lib/python3*/site-packages/nvidia/nccl/include/nccl.h)
fi
dirname "$(realpath "${headers[0]}")"
