#!/usr/bin/env bash
# Draws joint pairs with the published package and with ours, in turn, and compares.
#   bench/compare_peer.sh [BUILD_DIR]       default: build
# Environment: PEER_PYTHON  an interpreter with catsbench and safetensors; without it, one is set up
#                           in BUILD_DIR/peer from PyPI (python3-venv, some GB)
#              REPEATS      turns of each (default 5)
# Exits 1 where a limit does not hold.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd) || { echo "build first: make build" >&2; exit 2; }
presets=(d16-gaussian-0.02 d64-gaussian-0.02)
work=$build/compare_peer

for program in bridgemark sampling_bench; do
  [ -x "$build/$program" ] || { echo "$build/$program is missing: make build" >&2; exit 2; }
done

python=${PEER_PYTHON:-$build/peer/bin/python}
if [ -z "${PEER_PYTHON:-}" ] && ! [ -e "$build/peer/ready" ]; then
  echo "installing catsbench from PyPI into $build/peer" >&2
  python3 -m venv "$build/peer"
  "$build/peer/bin/pip" install --quiet catsbench safetensors
  touch "$build/peer/ready"
fi

mkdir -p "$work"
rm -f "$work"/*.json
folders=()
for preset in "${presets[@]}"; do
  "$build/bridgemark" build "$preset" -o "$work/$preset" >/dev/null
  folders+=("$work/$preset")
done

"$python" "$root/bench/peer_sampling.py" "${folders[@]}" --ours "$build/sampling_bench" \
  --repeats "${REPEATS:-5}" --threads 2 --json "$work/peer.json" >&2
# A limit is judged by the table; only a failed check leaves no file.
"$build/sampling_bench" --pair "${folders[@]}" --count 20000 --threads 2 --repeats 51 \
  --json "$work/ours.json" >/dev/null || [ -e "$work/ours.json" ]
exec "$python" "$root/bench/compare_table.py" "$work/peer.json" "$work/ours.json"
