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
dirname "$(dirname "$(scripts/install-cuda-package.sh 'cu*/bin/nvcc' nvidia-cuda-nvcc nvidia-nvvm \
  nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl)")"
