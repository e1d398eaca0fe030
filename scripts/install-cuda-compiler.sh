#!/usr/bin/env bash
# Prints the root of a CUDA toolkit: the machine's own, else one from PyPI, installed on the first
# call into the folder .cuda (no driver, no device: enough to compile).
set -euo pipefail
cd "$(dirname "$0")/.."

for root in "${CUDA_HOME:-}" /usr/local/cuda; do
  if [[ -n $root && -x $root/bin/nvcc ]]; then
    echo "$root"
    exit
  fi
done
if [[ ! -x .cuda/bin/python ]]; then
  scripts/install-packages.sh python >&2
  python3 -m venv .cuda >&2
fi
shopt -s nullglob
roots=(.cuda/lib/python3*/site-packages/nvidia/cu*/bin/nvcc)
if [[ ${#roots[@]} -eq 0 ]]; then
  .cuda/bin/pip install --quiet nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime \
    nvidia-cuda-cccl >&2
  roots=(.cuda/lib/python3*/site-packages/nvidia/cu*/bin/nvcc)
fi
dirname "$(dirname "$(realpath "${roots[0]}")")"
