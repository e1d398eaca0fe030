#!/usr/bin/env python3
"""check_metadata.py: recipes and metadata that have no linter which works without a network.

Reads the conda recipe with souschef and the JSON files of vcpkg, archives and editors, each of
which must have what its reader asks for, and looks whether the paper's figures and references are
there.
Exits 1 where something is missing.
"""

import json
import re
import sys
from pathlib import Path

from souschef.recipe import Recipe

ROOT = Path(__file__).parent.parent

# What the reader of a file refuses it without.
REQUIRED = {
    "codemeta.json": ("@context", "@type", "name", "description", "license", "author"),
    ".zenodo.json": ("title", "description", "upload_type", "license", "creators"),
    "packaging/vcpkg/vcpkg.json": ("name", "version", "description", "license", "dependencies"),
    ".devcontainer/devcontainer.json": ("name", "build"),
}


def faults_of_json():
    for name, keys in REQUIRED.items():
        try:
            found = json.loads((ROOT / name).read_text(encoding="utf-8"))
        except ValueError as error:
            yield f"{name}: {error}"
            continue
        missing = [key for key in keys if not found.get(key)]
        if missing:
            yield f"{name} lacks {', '.join(missing)}"


def faults_of_recipe():
    name = "packaging/conda/meta.yaml"
    recipe = Recipe(load_file=ROOT / name)
    for section, key, value in (("package", "name", "bridgemark"), ("about", "license", "MIT")):
        found = recipe[section][key].value
        if found != value:
            yield f"{name} has {section}/{key} '{found}', expected '{value}'"


def faults_of_paper():
    folder = ROOT / "packaging" / "paper"
    text = (folder / "paper.md").read_text(encoding="utf-8")
    references = (folder / "paper.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"^@\w+\{([^,]+),", references, re.MULTILINE))
    for figure in re.findall(r"^!\[.*\]\((.+)\)", text, re.MULTILINE):
        if not (folder / figure).exists():
            yield f"paper.md shows {figure}, which is not there"
    for cited in re.findall(r"\[@([^\]]+)\]", text):
        if cited not in known:
            yield f"paper.md cites {cited}, which paper.bib lacks"


def main():
    faults = [*faults_of_json(), *faults_of_recipe(), *faults_of_paper()]
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print("the recipes, the metadata and the paper are read")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
