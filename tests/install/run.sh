#!/usr/bin/env bash
# Builds and runs the project in this folder against what `cmake --install` leaves of build/, then
# with the library as a part of it.
set -euo pipefail
cd "$(dirname "$0")/../.."

prefix=$PWD/build/install/prefix
rm -rf build/install
cmake --install build --prefix "$prefix" >/dev/null
"$prefix/bin/bridgemark" list >/dev/null
if grep -rlF --include='*.h' --include='*.cmake' "$PWD" "$prefix"; then
  echo "$0: these files name the folder they were built in" >&2
  exit 1
fi

cmake -S tests/install -B build/install/installed -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build build/install/installed
build/install/installed/outside

# As deep as build/, with its flags: ccache then has the objects. Without a build type, so that one
# set by the library would show.
cmake -S tests/install -B build-embedded -G Ninja -DEMBEDDED=ON -DBRIDGEMARK_WERROR=ON \
  -DCMAKE_CXX_FLAGS="-O3 -DNDEBUG" -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON >/dev/null
cmake --build build-embedded --target outside
build-embedded/outside
