#!/usr/bin/env bash
# Builds the CUDA backend, checks it against the CPU, times it beside PyTorch where that is
# installed, and writes one JSON of results. For machines that cannot install packages:
#   bench/gpu.sh pack HEADERS     where the packages are: copies what such a machine lacks of them
#   bench/gpu.sh run OUT [HEADERS]   there: OUT/results.json, with its tests, timings and PyTorch's
#   bench/gpu.sh measure OUT      the same with the programs that are in build-gpu
#   bench/gpu.sh profile          after it: time, bytes and rate of each kernel at D = 64, by ncu
#   bench/gpu.sh sanitize         after it: the tests under compute-sanitizer
set -euo pipefail
cd "$(dirname "$0")/.."

# The parts of a run as one JSON; a part that is not there is null.
join() {
  local folder=$1 separator="{"
  for part in tests gpu_bench chain_bench evaluation sharing torch; do
    printf '%s"%s": ' "$separator" "$part"
    if [ -s "$folder/$part.json" ]; then cat "$folder/$part.json"; else echo null; fi
    separator=", "
  done
  echo "}"
}

# Seconds of the whole protocol at D = 64, one seed, for runs of a few updates: what it costs does
# not depend on how well they are trained. Of CSBM without the particles of its joint KL as well.
time_evaluation() {
  local folder=$1 pair=d64-gaussian-0.02-spread separator="{"
  local -A options=([oracle]="" [dlightsb]="--set updates=200"
    [dlightsb-chain]="--set updates=200"
    [csbm]="--set initial=independent --set imf_iterations=1 --set updates_first=300")
  for solver in oracle dlightsb dlightsb-chain csbm; do
    # shellcheck disable=SC2086  # options are words
    build-gpu/bridgemark train "$solver" --pair "$pair" -o "$folder/$solver" --device cuda \
      ${options[$solver]} >/dev/null
    printf '%s"%s": %s' "$separator" "$solver" "$(build-gpu/bridgemark evaluate "$pair" \
      --run "$folder/$solver" --device cuda --json | seconds_of)"
    separator=", "
  done
  printf ', "csbm without particles": %s' "$(build-gpu/bridgemark evaluate "$pair" \
    --run "$folder/csbm" --particles 0 --device cuda --json | seconds_of)"
  echo "}"
}

# How many tests ran and failed, of GoogleTest's JSON, whose first lines say so.
counts_of() { sed -n 's/^  "\(tests\|failures\)": \([0-9]*\),$/"\1": \2/p' "$1" | paste -sd, | sed 's/.*/{&}/'; }

seconds_of() { sed -n 's/.*"wall_seconds": \([0-9.]*\).*/\1/p'; }

# Seconds of eight trainings of CSBM that share the device, and of two of them one after the other.
time_sharing() {
  local folder=$1 separator="{"
  local -A updates=([16]="6000 2000" [64]="600 200")
  for dim in 16 64; do
    read -r first later <<<"${updates[$dim]}"
    cat >"$folder/$dim.toml" <<EOF
name = "sharing"
[evaluation]
conditional_samples = 10
trajectories = 10
[[grid]]
pairs = ["d$dim-gaussian-0.02"]
solvers = ["csbm"]
seeds = [0, 1, 2, 3, 4, 5, 6, 7]
[grid.options]
initial = "independent"
updates_first = $first
updates_later = $later
EOF
    printf '%s"D = %s": {"eight at once": %s, "two in turn": %s}' "$separator" "$dim" \
      "$(build-gpu/bridgemark run "$folder/$dim.toml" -o "$folder/at-once-$dim" --device cuda \
        --json | seconds_of)" \
      "$(build-gpu/bridgemark run "$folder/$dim.toml" -o "$folder/in-turn-$dim" --device cuda \
        --jobs 1 --only seed0 --only seed1 --json | seconds_of)"
    separator=", "
  done
  echo "}"
}

build() {
  local out=$1 headers=$2
  mkdir -p "$out"
  cmake -S . -B build-gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DBRIDGEMARK_CUDA=ON \
    -DCMAKE_CUDA_ARCHITECTURES=native -DBRIDGEMARK_TEST_FLOORS=backend -DBRIDGEMARK_WERROR=OFF \
    ${headers:+-DCMAKE_PREFIX_PATH="$(realpath "$headers")"} >"$out/configure.log" 2>&1 ||
    { tail -n 30 "$out/configure.log"; exit 1; }
  cmake --build build-gpu --target bridgemark_tests gpu_bench chain_bench training_bench bridgemark_cli \
    >"$out/build.log" 2>&1 || { grep -E -A5 "error|FAILED" "$out/build.log" | head -n 60; exit 1; }
}

measure() {
  local out=$1
  mkdir -p "$out"
  parts=$(mktemp -d)
  trap 'join "$parts" >"$out/results.json"; rm -rf "$parts"' EXIT
  build-gpu/bridgemark_tests --gtest_filter='Cuda*:*/cuda' --gtest_output="json:$parts/gtest.json" ||
    touch "$parts/failed"
  counts_of "$parts/gtest.json" >"$parts/tests.json"
  build-gpu/gpu_bench --json "$parts/gpu_bench.json" || true
  build-gpu/chain_bench --device cuda --json "$parts/chain_bench.json" || true
  local runs
  runs=$(mktemp -d)
  time_evaluation "$runs" | tee "$parts/evaluation.json"
  time_sharing "$runs" | tee "$parts/sharing.json"
  rm -rf "$runs"
  if python3 -c 'import torch' 2>/dev/null; then
    build-gpu/training_bench --dim 64 --dump build-gpu/problem >/dev/null
    python3 bench/torch_training.py build-gpu/problem --device cuda | tee "$parts/torch.json"
  fi
  [ ! -e "$parts/failed" ]
}

case "${1:-}" in
  pack)
    mkdir -p "$2/include"
    for folder in hwy Random123 fmt nlohmann CLI eigen3 toml++; do
      cp -r "/usr/include/$folder" "$2/include/"
    done
    mkdir -p "$2/include/bridgemark"
    cmark-gfm --extension table docs/corrections.md >"$2/include/bridgemark/corrections.html"
    ;;
  run)
    build "$2" "${3:-}"
    measure "$2"
    ;;
  measure)
    measure "$2"
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
    # All but the test that asks for more memory than there is. Calls that fail are left to the program:
    # NCCL asks for kernels of other GPUs. Races without whole trainings and the larger chains of
    # networks, which take many minutes; the shortest trainings stand for them. A test has a process
    # of its own, SANITIZE_JOBS (6) at a time.
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    tests_of() {
      build-gpu/bridgemark_tests --gtest_list_tests --gtest_filter="$1" |
        awk '/^[^ ]/ { suite = $1 } /^ / { print suite $1 }'
    }
    sanitize() {
      local log=$folder/$1.${2//\//_}.txt
      if compute-sanitizer --tool "$1" --report-api-errors no --error-exitcode 1 \
        build-gpu/bridgemark_tests --gtest_filter="$2" >"$log" 2>&1; then
        echo "$1: clean: $2"
      else
        tail -n 40 "$log"
        echo "$1: FAILED: $2"
        return 1
      fi
    }
    export -f sanitize
    export folder
    large='*.OutOfMemory*:CudaNetwork.*ChainsAre*:CudaNetwork.TrainsAs*:CudaCpTrainer.TrainsAs*:*.Resumes*'
    {
      tests_of 'Cuda*:*/cuda-*.OutOfMemory*' | sed 's/^/memcheck /'
      tests_of "Cuda*:*/cuda-$large" | sed 's/^/racecheck /'
    } | xargs -P "${SANITIZE_JOBS:-6}" -L 1 bash -c 'sanitize "$0" "$1"'
    for solver in csbm alpha-csbm; do
      compute-sanitizer --tool racecheck --error-exitcode 1 build-gpu/bridgemark train "$solver" \
        --pair d2-gaussian-0.05 -o "$folder/$solver" --device cuda --set batch_size=16 \
        --set num_steps=2 --set imf_iterations=2 --set updates_first=1 --set updates_later=1
    done
    ;;
  *)
    sed -n '2,8p' "$0"
    exit 2
    ;;
esac
