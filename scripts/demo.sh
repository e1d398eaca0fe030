#!/usr/bin/env bash
# Builds the pair d2-gaussian-0.02, draws from it, and scores the truth against itself.
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/bridgemark
pair=d2-gaussian-0.02
out=build/demo
rm -rf "$out"
mkdir -p "$out"

echo "== The pair $pair, written as a folder that other tools can read"
$program build $pair -o "$out/pair"
echo
echo "== Draws from it"
$program sample $pair --what joint -n 20000 -o "$out/joint.npy"
$program kit $pair -o "$out/kit"
$program sample $pair --what trajectory --given "$out/kit/conditional_x0.npy" --num-steps 16 -o "$out/trajectory.npy"
echo
echo "== The truth scored as if it were a solver: the ceiling of every table"
$program train oracle --pair $pair -o "$out/oracle" >/dev/null
$program evaluate $pair --run "$out/oracle" --seeds 3
echo
echo "== A bridge for each coordinate on its own, for comparison"
$program train feature-wise --pair $pair -o "$out/feature-wise" >/dev/null
$program evaluate $pair --run "$out/feature-wise" --seeds 3
