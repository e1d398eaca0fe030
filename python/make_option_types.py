#!/usr/bin/env python3
"""Writes the types of the solvers' options, as the library has them, into the built package."""

import sys
from pathlib import Path

HEAD = '''"""The keywords of each solver, made from the options that the library declares."""

import os
from typing import Literal, TypedDict
'''


def class_name(solver):
    return "".join(word.capitalize() for word in solver.split("-")) + "Options"


def typed_dict(solver, options):
    lines = [f"class {class_name(solver)}(TypedDict, total=False):"]
    lines += [f"    {option['key']}: {option['type']}" for option in options]
    return "\n".join(lines) + "\n"


def main():
    package = Path(sys.argv[1])
    sys.path.insert(0, str(package))
    import _core  # the native module alone: the package itself needs NumPy

    classes = [typed_dict(name, options) for name, _, options in _core.solver_specs() if options]
    (package / "_solver_options.pyi").write_text("\n".join([HEAD, *classes]))


if __name__ == "__main__":
    main()
