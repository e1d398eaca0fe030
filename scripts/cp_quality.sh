#!/usr/bin/env bash
# Trains a CP solver and scores it, one line a pair in results/dlightsb/runs.jsonl; pairs that are
# there are skipped.
#   scripts/cp_quality.sh SOLVER PAIR...        e.g. scripts/cp_quality.sh dlightsb d2-gaussian-0.02
set -euo pipefail
cd "$(dirname "$0")/.."

solver=$1
shift
out=results/dlightsb/runs.jsonl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$out"
for pair in "$@"; do
  grep -q "\"pair\": \"$pair\", \"solver\": \"$solver\"" "$out" && continue
  build/bridgemark train "$solver" --pair "$pair" -o "$work/$pair" --json >"$work/train.json"
  build/bridgemark evaluate "$pair" --run "$work/$pair" --seeds 3 --json >"$work/scores.json"
  python3 - "$pair" "$solver" "$work" >>"$out" <<'PYTHON'
import json, sys
pair, solver, work = sys.argv[1:]
train, scores = (json.load(open(f"{work}/{name}.json")) for name in ("train", "scores"))
scores.pop("values")
print(json.dumps({"pair": pair, "solver": solver, "train": train, "scores": scores}))
PYTHON
  tail -n 1 "$out" | python3 -c 'import json, sys; r = json.loads(sys.stdin.read()); s = r["scores"]; print(r["pair"], r["solver"], "%.0f s" % r["train"]["wall_seconds"], *("%s %.4f" % (k, s[k]) for k in ("conditional_shape_score", "exact_conditional_shape_score", "joint_kl")))'
done
