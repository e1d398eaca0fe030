#!/usr/bin/env bash
# Trains CSBM or alpha-CSBM on a share of the paper's 280,000 updates and scores it, one line a cell
# in results/csbm/runs.jsonl; cells that are there are skipped. scripts/csbm_table.py makes the table.
#   scripts/csbm_quality.sh SOLVER NUM_STEPS PAIR...   e.g. scripts/csbm_quality.sh csbm 16 d2-gaussian-0.05
# UPDATES_FIRST and UPDATES_LATER set the updates of the D-IMF iterations, DEVICE=cuda trains on a GPU.
set -euo pipefail
cd "$(dirname "$0")/.."

solver=$1
steps=$2
shift 2
program=${BRIDGEMARK:-build/bridgemark}
out=results/csbm/runs.jsonl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$out"
for pair in "$@"; do
  grep -q "\"pair\": \"$pair\", \"solver\": \"$solver\", \"num_steps\": $steps," "$out" && continue
  "$program" train "$solver" --pair "$pair" -o "$work/$pair" --threads 1 --json \
    --device "${DEVICE:-cpu}" \
    --set num_steps="$steps" --set input=embedding --set learning_rate=0.001 --set points=4 \
    --set updates_first="${UPDATES_FIRST:-6000}" --set updates_later="${UPDATES_LATER:-1000}" >"$work/train.json"
  "$program" evaluate "$pair" --run "$work/$pair" --threads 1 --seeds "${SEEDS:-1}" \
    --json >"$work/scores.json"
  python3 - "$pair" "$solver" "$steps" "$work" >>"$out" <<'PYTHON'
import json, sys
pair, solver, steps, work = sys.argv[1:]
train, scores = (json.load(open(f"{work}/{name}.json")) for name in ("train", "scores"))
scores.pop("values")
print(json.dumps({"pair": pair, "solver": solver, "num_steps": int(steps), "train": train,
                  "scores": scores}))
PYTHON
done
