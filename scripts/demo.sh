#!/usr/bin/env bash
# Runs experiments/quick.toml, or goes on with it, and ends with who is best and the path of its report.
set -euo pipefail
cd "$(dirname "$0")/.."

program=build/bridgemark
out=build/demo

echo "== The runs of experiments/quick.toml, $($program run experiments/quick.toml -o $out --dry-run | grep -c '^[^ ]') of them, minutes on two cores"
$program run experiments/quick.toml -o "$out" --resume
echo
$program report "$out" -o "$out/report.html" --brief
echo
echo "All scores: file://$PWD/$out/report.html"
