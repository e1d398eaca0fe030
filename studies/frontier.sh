#!/usr/bin/env bash
# Trains the bridges forward on all presets, and on instance 100 of those of D = 16 and 64, and
# prints a JSON line for each: what turned_bridges says of it, and the run's result.json.
#
#   studies/frontier.sh BUILD FOLDER [DEVICE] [JOBS] >lines.jsonl
#
# BUILD has bridgemark and turned_bridges (cmake --build build --target turned_bridges). FOLDER keeps
# the runs: those that are there are not made again. Pairs and solvers by PAIRS and SOLVERS.
set -euo pipefail
build=$1 folder=$2 device=${3:-cuda} jobs=${4:-8}
solvers=${SOLVERS:-dlightsb dlightsb-chain}
if [ -z "${PAIRS:-}" ]; then
  PAIRS=$("$build/bridgemark" list --json |
    python3 -c 'import json, sys
names = [pair["name"] for pair in json.load(sys.stdin)["pairs"]]
print(*names, *(name + "-i100" for name in names if not name.startswith("d2-")))')
fi
mkdir -p "$folder"
export build folder device

one() {
  local pair=$1 solver=$2 run=$folder/$1.$2
  [ -e "$run/result.json" ] || "$build/bridgemark" train "$solver" --pair "$pair" -o "$run" \
    --device "$device" --resume --quiet >/dev/null
  "$build/turned_bridges" "$run" --threads 2 | python3 -c 'import json, sys
line = json.load(sys.stdin)
print(json.dumps(line | {"result": json.load(open(sys.argv[1]))}), flush=True)' "$run/result.json"
}
export -f one

for pair in $PAIRS; do
  for solver in $solvers; do printf '%s %s\n' "$pair" "$solver"; done
done | xargs -P "$jobs" -L 1 bash -c 'one "$0" "$1"'
