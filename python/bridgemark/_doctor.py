"""What this machine and this package can do, for bug reports."""

from __future__ import annotations

import platform
import sys
from typing import Any

import numpy as np

from . import _core

_ARRAYS = ("torch", "jax", "cupy")


def doctor() -> dict[str, Any]:
    """Say what this build and this machine can do: what a bug report should have.

    The groups "build", "machine", "cpu", "cuda" and "environment" of `bridgemark doctor --json`,
    "checks" with a short computation on each device beside plain sums, "passed", "hints" that say
    what makes this machine slow and what to set, and "python": the versions of Python, NumPy and
    those of torch, JAX and CuPy that this process has imported. No path and no name of a user is in
    it.
    """
    found = _core.examine_machine()
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    for name in _ARRAYS:
        if name in sys.modules:
            versions[name] = str(getattr(sys.modules[name], "__version__", "unknown"))
    return {**found, "python": versions}
