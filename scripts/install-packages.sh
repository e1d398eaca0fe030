#!/usr/bin/env bash
# Installs the Debian packages Bridgemark builds with, and those of the parts that are named:
#   python   to build its Python package
#   torch    to test that package beside torch
#   browser  to open its report
#   clang    to fuzz its readers, and for the thread sanitizer
#   docs     to build its documentation as a site
#   format   to check the format of C++ and Python
#   latex    to compile the tables of its report
#   slurm    to test grids on a cluster of its own
#   mpi      to train one model on several ranks
# Does nothing where all are installed.
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config git ccache
  libhwy-dev librandom123-dev libopenblas-dev libeigen3-dev libcli11-dev
  nlohmann-json3-dev libtomlplusplus-dev libfmt-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  libjs-vega cmark-gfm
)
for part in "$@"; do
  case "$part" in
    python) packages+=(python3-venv python3-dev) ;;
    torch) packages+=(python3-venv python3-torch) ;;
    browser) packages+=(python3-venv chromium chromium-driver) ;;
    clang) packages+=(clang libomp-dev) ;;
    docs) packages+=(python3-venv doxygen libjs-katex) ;;
    format) packages+=(clang-format-14 python3-venv) ;;
    latex) packages+=(texlive-latex-base texlive-latex-recommended) ;;
    slurm) packages+=(slurm-wlm munge) ;;
    mpi) packages+=(openmpi-bin libopenmpi-dev) ;;
    *) echo "$0: unknown part '$part', expected python, torch, browser, clang, docs, format, latex, slurm or mpi" >&2; exit 2 ;;
  esac
done

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "need root to install: ${missing[*]}" >&2; exit 1; }
  sudo=sudo
fi
echo "installing: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
