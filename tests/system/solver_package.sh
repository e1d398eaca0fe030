#!/usr/bin/env bash
# solver_package.sh PYTHON: in an environment that has the wheel, torch and pytest, what the README of
# examples/solver-package says, in a copy of it; its tables must have the solver's row beside ours.
set -euo pipefail
python=$(realpath -s "$1")
example=$(cd "$(dirname "$0")/../../examples/solver-package" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$example/." "$folder"
cd "$folder"
PATH="$(dirname "$python"):$PATH"
commands=$(sed -n '/^```sh$/,/^```$/p' README.md | grep -v '^```')
bash -euo pipefail -c "$commands"
for row in 'My solver' DLightSB Independent; do
  grep -q "^| $row " out/tables.md || { echo "out/tables.md has no row of $row" >&2; exit 1; }
done
