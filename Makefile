# Two commands do everything on a fresh Debian 12 machine: `make demo` and `make test`.
# Each installs the packages it needs and builds what is missing; a second run does neither again.

.PHONY: packages python-packages build test test-asan test-python test-report demo bench clean

packages:
	@scripts/install-packages.sh

# CMake configures once; Ninja reruns it by itself when a CMake file changes.
build/build.ninja: | packages
	cmake --preset cpu

build: packages build/build.ninja
	cmake --build --preset cpu

test: build
	ctest --preset cpu -j 2

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

# Only the program: the demo needs neither tests nor timings.
demo: packages build/build.ninja
	cmake --build --preset cpu --target bridgemark_cli
	@scripts/demo.sh

.venv-browser/bin/python:
	@scripts/install-packages.sh browser
	python3 -m venv .venv-browser
	.venv-browser/bin/python -m pip install --quiet selenium

# Opens the demo's report in headless Chromium; the pictures lie in build/demo/screenshots.
test-report: .venv-browser/bin/python demo
	.venv-browser/bin/python scripts/check_report.py build/demo/report.html build/demo/screenshots --require

bench: build
	build/sampling_bench
	build/score_bench

clean:
	rm -rf build build-asan build-cuda build-python .venv .venv-browser
