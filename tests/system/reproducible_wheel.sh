#!/usr/bin/env bash
# Builds a wheel again from a copy of the tree in another folder, without a compiler's cache, and
# compares it with the given one byte by byte.
#   tests/system/reproducible_wheel.sh build-wheel/dist/*.whl
set -euo pipefail
wheel=$(realpath "$1")
tree=$(realpath "$(dirname "$0")/../..")
copy=$(mktemp -d)/another-folder
trap 'rm -rf "$(dirname "$copy")"' EXIT

mkdir "$copy"
git -C "$tree" ls-files -z --cached --others --exclude-standard |
  tar -C "$tree" --null --files-from=- -cf - | tar -C "$copy" -xf -
ln -s "$tree/.venv" "$copy/.venv"
SOURCE_DATE_EPOCH=$(git -C "$tree" log -1 --format=%ct)
export SOURCE_DATE_EPOCH CCACHE_DISABLE=1
make -C "$copy" wheel
again=$(echo "$copy"/build-wheel/dist/*.whl)
if cmp "$wheel" "$again"; then
  echo "the same bytes: $(sha256sum <"$wheel" | cut -c1-64) $(basename "$wheel")"
  exit
fi
# Which files differ.
names() { python3 -m zipfile --list "$1" | awk 'NR > 1 {print $1}'; }
diff <(names "$wheel") <(names "$again") || true
mkdir "$copy/a" "$copy/b"
python3 -m zipfile --extract "$wheel" "$copy/a"
python3 -m zipfile --extract "$again" "$copy/b"
diff --recursive --brief "$copy/a" "$copy/b" || true
exit 1
