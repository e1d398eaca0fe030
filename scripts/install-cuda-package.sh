#!/usr/bin/env bash
# Installs NVIDIA's packages from PyPI into the folder .cuda, unless a file of them is there, and prints
# that file's path:
#   scripts/install-cuda-package.sh FILE PACKAGE...    (FILE is a pattern below the folder nvidia)
set -euo pipefail
cd "$(dirname "$0")/.."
pattern=$1
shift
if [[ ! -x .cuda/bin/python ]]; then
  scripts/install-packages.sh python >&2
  python3 -m venv .cuda >&2
fi
shopt -s nullglob
# shellcheck disable=SC2206  # a pattern
files=(.cuda/lib/python3*/site-packages/nvidia/$pattern)
if [[ ${#files[@]} -eq 0 ]]; then
  .cuda/bin/pip install --quiet "$@" >&2
  # shellcheck disable=SC2206
  files=(.cuda/lib/python3*/site-packages/nvidia/$pattern)
fi
realpath "${files[0]}"
