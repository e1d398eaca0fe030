#!/usr/bin/env bash
# Prints the folder of nccl.h: the machine's own, else that of PyPI's package. NCCL's library is
# looked for when it is needed, not when we build.
set -euo pipefail
cd "$(dirname "$0")/.."

for folder in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/include; do
  if [[ -f $folder/nccl.h ]]; then
    echo "$folder"
    exit
  fi
done
dirname "$(scripts/install-cuda-package.sh nccl/include/nccl.h nvidia-nccl-cu13)"
