"""Arguments that are refused by their name and type before native code sees them."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np


def _refusal(name: str, value: Any, expected: str) -> str:
    return f"[python] {name} must be {expected}, got {type(value).__name__}"


def _require(name: str, value: Any, kinds: type | tuple[type, ...], expected: str) -> None:
    if not isinstance(value, kinds):
        raise TypeError(_refusal(name, value, expected))


def require_text(**values: Any) -> None:
    """Raises TypeError unless each is a str."""
    for name, value in values.items():
        _require(name, value, str, "a str")


def require_path(**values: Any) -> None:
    """Raises TypeError unless each names a file or folder."""
    for name, value in values.items():
        _require(name, value, (str, os.PathLike), "a str or os.PathLike")


def require_flag(**values: Any) -> None:
    """Raises TypeError unless each is True or False."""
    for name, value in values.items():
        _require(name, value, (bool, np.bool_), "True or False")


def require_callable(**values: Any) -> None:
    """Raises TypeError unless each can be called."""
    for name, value in values.items():
        if not callable(value):
            raise TypeError(_refusal(name, value, "a callable"))


def require_number(**values: Any) -> None:
    """Raises TypeError unless each is a number, a NumPy scalar included."""
    for name, value in values.items():
        _require(name, value, numbers.Real, "a number")
