#!/usr/bin/env bash
# Scores of the four baselines: results/baselines/*.jsonl, one line a cell. Cells that are there are
# skipped, so an interrupted run goes on where it stopped.
#
#   scripts/baselines.sh [forward|reverse ...]       both by default
#
#   forward    12 sphere presets x 4 solvers, 3 seeds                 -> runs.jsonl
#   reverse    12 reversed presets, C2ST; oracle at D = 2 only        -> reverse.jsonl
#
# Environment: BRIDGEMARK (the program), OUT (where the results go).
set -euo pipefail
cd "$(dirname "$0")/.."

program=${BRIDGEMARK:-build/bridgemark}
out=${OUT:-results/baselines}
references=(gaussian-0.02 gaussian-0.05 uniform-0.005 uniform-0.01)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# cell FILE NAME PAIR SOLVER SEEDS [evaluate options ...]: trains, evaluates, appends one line.
# NAME is what the cell is called, PAIR what the program is given.
cell() {
  local file=$1 name=$2 pair=$3 solver=$4 seeds=$5
  shift 5
  if grep -qsF "{\"pair\": \"$name\", \"solver\": \"$solver\"," "$file"; then return; fi
  echo "$name $solver" >&2
  rm -rf "$work/run"
  "$program" train "$solver" --pair "$pair" -o "$work/run" --json >"$work/train.json" 2>/dev/null
  "$program" evaluate "$pair" --run "$work/run" --seeds "$seeds" --num-steps 16 --json "$@" \
    >"$work/evaluate.json" 2>/dev/null
  python3 - "$work" "$name" "$solver" "$file" <<'PYTHON'
import json, sys

work, name, solver, path = sys.argv[1:]
train = json.load(open(f"{work}/train.json"))
scores = json.load(open(f"{work}/evaluate.json"))
cell = {"pair": name, "solver": solver, "train_seconds": train["wall_seconds"],
        "evaluate_seconds": scores.pop("wall_seconds"), "diagnostics": train["diagnostics"]}
scores.pop("pair")
with open(path, "a") as file:
    file.write(json.dumps(cell | scores) + "\n")
PYTHON
}

forward() {
  local dim reference solver
  for dim in 2 16 64; do
    for reference in "${references[@]}"; do
      for solver in oracle independent reference feature-wise; do
        cell "$out/runs.jsonl" "d$dim-$reference" "d$dim-$reference" "$solver" 3
      done
    done
  done
}

reverse() {
  local dim reference solver name
  for dim in 2 16 64; do
    for reference in "${references[@]}"; do
      name=d$dim-$reference-reverse
      if [ "$dim" = 2 ]; then cell "$out/reverse.jsonl" "$name" "$name" oracle 3; fi
      for solver in independent reference feature-wise; do
        cell "$out/reverse.jsonl" "$name" "$name" "$solver" "$([ "$dim" = 64 ] && echo 1 || echo 3)"
      done
    done
  done
}

[ $# -gt 0 ] || set -- forward reverse
for part in "$@"; do
  case $part in
    forward | reverse) "$part" ;;
    *) echo "baselines.sh: parts are forward and reverse, got '$part'" >&2; exit 2 ;;
  esac
done
