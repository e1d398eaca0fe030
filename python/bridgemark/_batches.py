"""Batches of a pair's two ends, for a training loop."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from bridgemark import _core


def _library_of_gpu_arrays() -> Any:
    """torch or CuPy, whichever is in use; torch where neither is."""
    for name in ("torch", "cupy"):
        if name in sys.modules:
            return sys.modules[name]
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise ValueError(
            "[python] device 'cuda' needs torch or CuPy, neither is installed"
        ) from error


class Batches(Iterator[tuple[Any, Any]]):
    """Endless batches (x0, x1), rows of p0 and of p1 that know nothing of each other.

    int32 [rows,D] each: NumPy for device "cpu", else torch (or CuPy) arrays made on that GPU, in
    the order of its current stream. A seed's rows follow each other whatever the size of the
    batches; `first_row` says where the next one begins, so that a loop can be taken up again.
    """

    def __init__(
        self, pair: _core.Pair, rows: int, seed: int, device: str = "cpu", first_row: int = 0
    ):
        kind = str(device)
        if kind != "cpu" and kind != "cuda" and kind != "cuda:0":
            raise ValueError(f"[python] device must be 'cpu', 'cuda' or 'cuda:0', got {device!r}")
        if rows < 1:
            raise ValueError(f"[python] rows must be at least 1, got {rows}")
        if kind != "cpu":
            _core.require_gpu()
        self._pair, self._seed = pair, seed
        self._shape = (rows, pair.dim)
        self._library = np if kind == "cpu" else _library_of_gpu_arrays()
        self.first_row = first_row

    def _empty(self) -> Any:
        if self._library is np:
            return np.empty(self._shape, np.int32)
        if self._library.__name__ == "torch":
            return self._library.empty(self._shape, dtype=self._library.int32, device="cuda")
        return self._library.empty(self._shape, dtype="int32")

    def __next__(self) -> tuple[Any, Any]:
        x0, x1 = self._empty(), self._empty()
        _core.fill_ends(self._pair, self._seed, self.first_row, x0, x1)
        self.first_row += self._shape[0]
        return x0, x1
