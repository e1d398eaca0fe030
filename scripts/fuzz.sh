#!/usr/bin/env bash
# Fuzzes readers for a number of seconds each, FUZZ_JOBS (2) at a time, under the address and
# undefined-behaviour sanitizers, and prints how many inputs each had.
#   scripts/fuzz.sh BUILD SECONDS [READER ...]    (all that BUILD has where none is named)
# Inputs start from tests/fuzz/corpus/READER; what finds new ways through the code is kept in
# BUILD/grown, and what trips a reader in BUILD/finds. Exits 1 where one did.
set -uo pipefail
cd "$(dirname "$0")/.."
usage="usage: scripts/fuzz.sh BUILD SECONDS [READER ...]"
build=${1:?$usage} seconds=${2:?$usage}
shift 2
readers=("$@")
if [ ${#readers[@]} -eq 0 ]; then
  shopt -s nullglob
  for program in "$build"/fuzz_*; do readers+=("${program#"$build"/fuzz_}"); done
  if [ ${#readers[@]} -eq 0 ]; then
    echo "scripts/fuzz.sh: there is no fuzzer in $build" >&2
    exit 2
  fi
fi
mkdir -p "$build"/finds "$build"/logs

fuzz() {
  local reader=$1 log=$build/logs/$1.txt longest=4096 more=() started=$SECONDS
  # Reference values of every kind.
  if [ "$reader" = verify ]; then longest=131072 more=(tests/golden); fi
  if [ "$reader" = submission ]; then longest=32768; fi  # scores have blocks
  mkdir -p "$build/grown/$reader"
  # In memory where the machine has such a place; a fuzzer ends without removing anything.
  local files memory=/tmp
  if [ -w /dev/shm ]; then memory=/dev/shm; fi
  files=$(mktemp -d -p "$memory" bridgemark-fuzz-XXXXXX)
  # The program's own limits are for machines; a small file may not ask for half a gigabyte.
  TMPDIR=$files ASAN_OPTIONS=leak_check_at_exit=0 "$build/fuzz_$reader" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -malloc_limit_mb=512 -max_len=$longest -print_final_stats=1 -verbosity=1 \
    -artifact_prefix="$build/finds/$reader-" \
    "$build/grown/$reader" "tests/fuzz/corpus/$reader" "${more[@]}" >"$log" 2>&1
  local status=$?
  rm -rf "$files"
  local inputs
  inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)
  if [ $status -eq 0 ]; then
    printf '%-14s %10s inputs in %s s\n' "$reader" "$inputs" $((SECONDS - started))
  else
    printf '%-14s FAILED after %s inputs, see %s: %s\n' "$reader" "${inputs:-?}" "$log" \
      "$(grep -m1 -E '^fault|ERROR|runtime error|terminate' "$log")"
  fi
  return $status
}
export -f fuzz
export build seconds

# In one group with the whole: Ctrl-C ends all.
printf '%s\n' "${readers[@]}" | xargs -P "${FUZZ_JOBS:-2}" -I{} bash -c 'fuzz {}'
[ $? -eq 0 ]
