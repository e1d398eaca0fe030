"""Progress of long calls on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

Reporter = Callable[[str, int, int, str], object]

_FIRST_AFTER = 2.0  # seconds; shorter work shows nothing
_INTERVAL = 0.5


class _Printer:
    """Rewrites one line of a terminal; prints a line every ten seconds elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + _FIRST_AFTER
        self._open = False

    def __call__(self, what: str, done: int, total: int, detail: str) -> None:
        if done == total and self._open:
            sys.stderr.write("\r\x1b[K")
            self._open = False
        if done == total or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + (_INTERVAL if self._terminal else 20 * _INTERVAL)
        text = f"{what}: {done} of {total}" + (f", {detail}" if detail else "")
        sys.stderr.write(f"\r\x1b[K{text}" if self._terminal else text + "\n")
        sys.stderr.flush()
        self._open = self._terminal


def reporter(progress: bool | Reporter) -> Reporter | None:
    """What `progress=` asks for: a callable as it is, True for a line on standard error."""
    if callable(progress):
        return progress
    if not isinstance(progress, (bool, np.bool_)):
        raise TypeError(
            "[python] progress must be True, False or a callable (what, done, total, detail), "
            f"got {type(progress).__name__}"
        )
    return _Printer() if progress else None
