#!/usr/bin/env bash
# Run by cibuildwheel once in its container, AlmaLinux: what the wheels are built with. Not yet run on
# a hosted service. With BRIDGEMARK_WHEEL_VARIANT=-cuda also CUDA's compiler, as /opt/cuda.
set -euo pipefail
cd "$(dirname "$0")/.."

dnf install -y -q epel-release dnf-plugins-core
dnf config-manager --set-enabled crb
dnf install -y -q cli11-devel eigen3-devel fmt-devel highway-devel json-devel openblas-devel \
  Random123-devel tomlplusplus-devel

if [ "${BRIDGEMARK_WHEEL_VARIANT:-}" = -cuda ]; then
  ln -sfn "$(scripts/install-cuda-compiler.sh)" /opt/cuda
fi
