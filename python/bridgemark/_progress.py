"""Progress of long calls on standard error."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

import numpy as np

Reporter = Callable[[str, int, int, str], object]

_FIRST_AFTER = 2.0  # seconds; shorter work shows nothing
_REWRITE_EVERY = 0.5
_LINE_EVERY = 10.0  # in files and pipes, where nothing can be rewritten


def _is_notebook(stream: TextIO) -> bool:
    """Whether this is the stream of a Jupyter kernel: no terminal, but knows a carriage return."""
    return type(stream).__module__.partition(".")[0] == "ipykernel"


class _Printer:
    """Rewrites one line of a terminal or a notebook; prints a line now and then elsewhere.

    A terminal's line goes when its work is done. A notebook's stays as it ended, since an output
    that was there cannot be taken away, and the next work of the same call rewrites it.
    """

    def __init__(self, first_after: float = _FIRST_AFTER) -> None:
        self._stream = sys.stderr
        self._terminal = self._stream.isatty()
        self._notebook = not self._terminal and _is_notebook(self._stream)
        self._next = time.monotonic() + first_after
        self._shown = 0  # characters on the line
        self._work = ("", 0, 0.0)  # what is done, how much of it when first told, and when

    def _left(self, what: str, done: int, total: int) -> str:
        """How long the work goes on as it went so far; empty where nobody can say."""
        name, first, since = self._work
        if what != name or done < first:
            self._work = what, done, time.monotonic()
            return ""
        elapsed = time.monotonic() - since
        if done == first or elapsed < 1.0:
            return ""
        return f", {elapsed * (total - done) / (done - first):.0f} s left"

    def __call__(self, what: str, done: int, total: int, detail: str) -> None:
        text = f"{what}: {done} of {total}" + (f", {detail}" if detail else "")
        left = self._left(what, done, total)
        if done == total:
            if self._shown:
                self._rewrite(text if self._notebook else "")
            return
        if time.monotonic() < self._next:
            return
        text += left
        rewritten = self._terminal or self._notebook
        self._next = time.monotonic() + (_REWRITE_EVERY if rewritten else _LINE_EVERY)
        if rewritten:
            self._rewrite(text)
        else:
            self._stream.write(text + "\n")
            self._stream.flush()

    def _rewrite(self, text: str) -> None:
        if self._terminal:  # a line that wraps could not be taken back
            text = text[: shutil.get_terminal_size().columns - 1]
            self._stream.write(f"\r\x1b[K{text}")
        else:  # notebooks keep what a shorter line does not cover
            self._stream.write(f"\r{text.ljust(self._shown)}")
        self._stream.flush()
        self._shown = len(text)


def is_watched() -> bool:
    """Whether standard error is where a person looks: a terminal or a notebook."""
    return sys.stderr.isatty() or _is_notebook(sys.stderr)


def reporter(progress: bool | Reporter, *, at_once: bool = False) -> Reporter | None:
    """What `progress=` asks for: a callable as it is, True for a line on standard error.

    `at_once` is for calls that always take long: their first line waits for nothing.
    """
    if callable(progress):
        return progress
    if not isinstance(progress, (bool, np.bool_)):
        raise TypeError(
            "[python] progress must be True, False or a callable (what, done, total, detail), "
            f"got {type(progress).__name__}"
        )
    if not progress:
        return None
    return _Printer(0.0 if at_once else _FIRST_AFTER)
