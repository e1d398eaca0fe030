# Two commands do everything on a fresh Debian 12 machine: `make demo` and `make test`.
# Each installs the packages it needs and builds what is missing; a second run does neither again.

.PHONY: packages python-packages build build-cuda test test-asan test-python demo bench clean

packages:
	@scripts/install-packages.sh

# CMake configures once; Ninja reruns it by itself when a CMake file changes.
build/build.ninja: | packages
	cmake --preset cpu

build: packages build/build.ninja
	cmake --build --preset cpu

test: build
	ctest --preset cpu -j 2

# Compiles the kernels, with a compiler from PyPI where the machine has none; no device is needed.
build-cuda/build.ninja: | packages
	root=$$(scripts/install-cuda-compiler.sh) && cmake --preset cuda \
	  -DCMAKE_CUDA_COMPILER=$$root/bin/nvcc -DCUDAToolkit_ROOT=$$root

build-cuda: packages build-cuda/build.ninja
	cmake --build --preset cuda --target bridgemark_cuda

build-asan/build.ninja: | packages
	cmake --preset asan

test-asan: packages build-asan/build.ninja
	cmake --build --preset asan
	ctest --preset asan -j 2

.venv/bin/python:
	@scripts/install-packages.sh python
	python3 -m venv .venv

# pip is asked only where a package is missing.
python-packages: .venv/bin/python
	@.venv/bin/python -c 'import nanobind, numpy, pytest, scikit_build_core' 2>/dev/null || \
	  .venv/bin/python -m pip install --quiet nanobind scikit-build-core numpy pytest

build-python/build.ninja: | python-packages
	cmake --preset python -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python

test-python: python-packages build-python/build.ninja
	cmake --build --preset python
	PYTHONPATH=build-python/python .venv/bin/python -m pytest -q python/tests

demo: build
	@scripts/demo.sh

bench: build
	build/sampling_bench
	build/score_bench

clean:
	rm -rf build build-asan build-cuda build-python .venv .cuda
