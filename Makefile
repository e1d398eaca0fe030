# Two commands do everything on a fresh Debian 12 machine: `make demo` and `make test`.
# Each installs the packages it needs and builds what is missing; a second run does neither again.

.PHONY: packages build test test-asan demo bench clean

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

demo: build
	@scripts/demo.sh

bench: build
	build/sampling_bench
	build/score_bench

clean:
	rm -rf build build-asan build-cuda build-python
