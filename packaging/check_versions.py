#!/usr/bin/env python3
"""check_versions.py [--tag vX.Y.Z | --notes]: one version in all files that state it.

CMakeLists.txt decides; the wheel reads it there. Exits 1 where another file, or the tag, has
another one. --notes prints what CHANGELOG.md says of the version, for a release.
"""

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def first(pattern, name):
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else None


def versions():
    """Each file with the version that it states."""
    stated = {
        "CMakeLists.txt": first(r"^project\(bridgemark VERSION ([\d.]+)", "CMakeLists.txt"),
        "CITATION.cff": first(r"^version: (\S+)", "CITATION.cff"),
        "CHANGELOG.md": first(r"^## \[([\d.]+)\]", "CHANGELOG.md"),
        "packaging/conda/meta.yaml": first(r'^  version: "([^"]+)"', "packaging/conda/meta.yaml"),
    }
    for name in ("codemeta.json", ".zenodo.json", "packaging/vcpkg/vcpkg.json"):
        stated[name] = json.loads((ROOT / name).read_text(encoding="utf-8"))["version"]
    return stated


def notes(version):
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## \[|\Z)"
    return re.search(section, text, re.MULTILINE | re.DOTALL)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="of a release: v and the version")
    parser.add_argument("--notes", action="store_true", help="print the notes of a release")
    arguments = parser.parse_args()
    stated = versions()
    version = stated["CMakeLists.txt"]
    if arguments.notes:
        print(notes(version).strip())
        return 0
    if arguments.tag:
        stated["the tag"] = arguments.tag.removeprefix("v")
    wrong = {name: found for name, found in stated.items() if found != version}
    for name, found in wrong.items():
        print(f"{name} has version {found}, CMakeLists.txt {version}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
