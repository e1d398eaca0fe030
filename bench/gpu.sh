#!/usr/bin/env bash
# Builds the CUDA backend, checks it against the CPU, times it beside PyTorch where that is
# installed, and writes one JSON of results. For machines that cannot install packages:
#   bench/gpu.sh pack HEADERS     where the packages are: copies the headers such a machine lacks
#   bench/gpu.sh run OUT [HEADERS]   there: OUT/results.json, with its tests, timings and PyTorch's
#   bench/gpu.sh profile          after it: time, bytes and rate of each kernel at D = 64, by ncu
#   bench/gpu.sh sanitize         after it: the tests under compute-sanitizer
set -euo pipefail
cd "$(dirname "$0")/.."

# The parts of a run as one JSON; a part that is not there is null.
join() {
  local folder=$1 separator="{"
  for part in tests gpu_bench chain_bench torch; do
    printf '%s"%s": ' "$separator" "$part"
    if [ -s "$folder/$part.json" ]; then cat "$folder/$part.json"; else echo null; fi
    separator=", "
  done
  echo "}"
}

case "${1:-}" in
  pack)
    mkdir -p "$2/include"
    for folder in hwy Random123 fmt nlohmann CLI eigen3 toml++; do
      cp -r "/usr/include/$folder" "$2/include/"
    done
    ;;
  run)
    out=$2
    mkdir -p "$out"
    cmake -S . -B build-gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DBRIDGEMARK_CUDA=ON \
      -DCMAKE_CUDA_ARCHITECTURES=native -DBRIDGEMARK_TEST_FLOORS=backend -DBRIDGEMARK_WERROR=OFF \
      ${3:+-DCMAKE_PREFIX_PATH="$(realpath "$3")"} >"$out/configure.log" 2>&1 ||
      { tail -n 30 "$out/configure.log"; exit 1; }
    cmake --build build-gpu --target bridgemark_tests gpu_bench chain_bench training_bench bridgemark_cli \
      >"$out/build.log" 2>&1 || { grep -E -A5 "error|FAILED" "$out/build.log" | head -n 60; exit 1; }
    parts=$(mktemp -d)
    trap 'join "$parts" >"$out/results.json"; rm -rf "$parts"' EXIT
    build-gpu/bridgemark_tests --gtest_filter='Cuda*:*/cuda' --gtest_output="json:$parts/tests.json"
    build-gpu/gpu_bench --json "$parts/gpu_bench.json" || true
    build-gpu/chain_bench --device cuda --json "$parts/chain_bench.json" || true
    if python3 -c 'import torch' 2>/dev/null; then
      build-gpu/training_bench --dim 64 --dump build-gpu/problem >/dev/null
      python3 bench/torch_training.py build-gpu/problem --device cuda | tee "$parts/torch.json"
    fi
    ;;
  profile)
    metrics=gpu__time_duration.sum,dram__bytes.sum,lts__t_bytes.sum
    metrics+=,sm__throughput.avg.pct_of_peak_sustained_elapsed
    metrics+=,sm__warps_active.avg.pct_of_peak_sustained_active
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    for solver in dlightsb dlightsb-m; do
      ncu --clock-control none --metrics "$metrics" build-gpu/bridgemark train "$solver" \
        --pair d64-gaussian-0.02 -o "$folder/$solver" --device cuda --set batch_size=128 \
        --set updates=3
    done
    # The second D-IMF iteration has the chains.
    for solver in csbm alpha-csbm; do
      ncu --clock-control none --metrics "$metrics" build-gpu/bridgemark train "$solver" \
        --pair d64-gaussian-0.02 -o "$folder/$solver" --device cuda --set batch_size=128 \
        --set imf_iterations=2 --set updates_first=1 --set updates_later=2
    done
    ;;
  sanitize)
    # All but the test that asks for more memory than there is; races within some minutes, so the
    # chains of networks by the smaller ones and by the shortest trainings.
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    compute-sanitizer --tool memcheck --error-exitcode 1 build-gpu/bridgemark_tests \
      --gtest_filter='Cuda*:*/cuda-*.OutOfMemory*'
    large='*.OutOfMemory*:CudaNetwork.ChainsAre*:CudaNetwork.TrainsAs*:*.Resumes*'
    compute-sanitizer --tool racecheck --error-exitcode 1 build-gpu/bridgemark_tests \
      --gtest_filter="Cuda*:*/cuda-$large"
    for solver in csbm alpha-csbm; do
      compute-sanitizer --tool racecheck --error-exitcode 1 build-gpu/bridgemark train "$solver" \
        --pair d2-gaussian-0.05 -o "$folder/$solver" --device cuda --set batch_size=16 \
        --set num_steps=2 --set imf_iterations=2 --set updates_first=1 --set updates_later=1
    done
    ;;
  *)
    sed -n '2,7p' "$0"
    exit 2
    ;;
esac
