#!/usr/bin/env bash
# Installs a wheel in a root of its own, which holds Debian's Python, glibc, the compiler's
# libraries, NumPy's wheel and nothing else, and runs there what the README shows first.
#   tests/system/check_wheel.sh build-wheel/dist/*.whl
# Needs chroot; says so and succeeds without a check where that is not allowed.
set -euo pipefail
if ! chroot / /bin/true 2>/dev/null; then
  echo "SKIPPED: the wheel was not tried in a root of its own, chroot is not allowed here"
  exit 0
fi
wheel=$(realpath "$1")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# The interpreter, its library and the shared libraries that these themselves load, and those that
# every Debian has and wheels may count on: glibc and the compiler's.
python=/usr/bin/python3
folder=$($python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
mkdir -p "$root/usr/bin" "$root$(dirname "$folder")" "$root"/{tmp,proc,dev,site}
mknod -m 666 "$root/dev/null" c 1 3 2>/dev/null || touch "$root/dev/null"
cp -L "$python" "$root/usr/bin/python3"
cp -r "$folder" "$root$(dirname "$folder")/"
rm -rf "$root$folder/dist-packages"
{
  find "$root$folder" -name '*.so' -print0 | xargs -0 ldd "$python" 2>/dev/null || true
  dpkg -L libc6 libstdc++6 libgcc-s1
} | grep -oE '/(usr/)?lib[^ ]+\.so[^ ]*' | sort -u | grep -v "^$root" | while read -r library; do
  [ -f "$library" ] || continue
  mkdir -p "$root$(dirname "$library")"
  cp -Lu "$library" "$root$library"
done

$python -m venv "$root/venv"
"$root/venv/bin/pip" install --quiet --target "$root/site" "$wheel" numpy
for name in hwy openblas fmt gomp; do
  if find "$root/usr" "$root/lib" -name "lib$name*" 2>/dev/null | grep .; then
    echo "the root holds lib$name of Debian" >&2
    exit 1
  fi
done

run() { chroot "$root" /usr/bin/env -i PATH=/usr/bin PYTHONPATH=/site HOME=/tmp "$@"; }
cp -L /usr/bin/env "$root/usr/bin/env"
cat >"$root/tmp/first.py" <<'PYTHON'
import bridgemark as bm

pair = bm.load("d2-gaussian-0.02-spread")
solver = bm.DLightSB(components=20, updates=200).fit(pair)
print(bm.evaluate(pair, solver))
PYTHON
run /usr/bin/python3 /tmp/first.py

# The loader finds the libraries beside the program by /proc/self/exe. Where a container lets nobody
# mount it, the loader is told.
paths=()
if mount --bind /proc "$root/proc" 2>/dev/null; then
  trap 'umount "$root/proc"; rm -rf "$root"' EXIT
else
  paths=(LD_LIBRARY_PATH=/site/bridgemark.libs)
fi
program=("${paths[@]}" /usr/bin/python3 /site/bin/bridgemark)
run "${program[@]}" list | sed -n 1,4p
cat >"$root/tmp/grid.toml" <<'TOML'
name = "grid"
[[grid]]
pairs = ["d2-gaussian-0.02-spread"]
solvers = ["oracle", "independent"]
TOML
run "${program[@]}" run /tmp/grid.toml -o /tmp/grid >/dev/null
run "${program[@]}" report /tmp/grid -o /tmp/report.html | sed -n 1,4p
[ "$(stat -c %s "$root/tmp/report.html")" -gt 100000 ]
echo "the wheel runs on Python and glibc alone: $(basename "$wheel"), $(du -h "$wheel" | cut -f1)"
