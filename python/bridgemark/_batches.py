"""A pair's draws into arrays made for them on a device: samples, and batches to train on."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator
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


def _states_on(device: Any, rows: int, dim: int) -> Callable[[], Any]:
    """What makes an int32 array [rows,dim], not yet filled, on the device: NumPy, torch or CuPy."""
    kind = str(device)
    if kind not in ("cpu", "cuda", "cuda:0"):
        raise ValueError(f"[python] device must be 'cpu', 'cuda' or 'cuda:0', got {device!r}")
    shape = (rows, dim)
    if kind == "cpu":
        _core.require_states_memory(rows, dim)
        return lambda: np.empty(shape, np.int32)
    _core.require_gpu()
    library = _library_of_gpu_arrays()
    if library.__name__ == "torch":
        return lambda: library.empty(shape, dtype=library.int32, device="cuda")
    return lambda: library.empty(shape, dtype="int32")


def sample_x0(pair: _core.Pair, n: int, seed: int, device: Any) -> Any:
    x0 = _states_on(device, n, pair.dim)()
    _core.fill_ends(pair, seed, 0, x0, None)
    return x0


def sample_x1(pair: _core.Pair, n: int, seed: int, device: Any) -> Any:
    x1 = _states_on(device, n, pair.dim)()
    _core.fill_ends(pair, seed, 0, None, x1)
    return x1


def sample_joint(pair: _core.Pair, n: int, seed: int, device: Any) -> tuple[Any, Any]:
    empty = _states_on(device, n, pair.dim)
    x0, x1 = empty(), empty()
    _core.fill_joint(pair, seed, x0, x1)
    return x0, x1


# Of all batches: a lock of each would keep them from being copied, and it is held for a moment.
_taking_rows = threading.Lock()


class Batches(Iterator[tuple[Any, Any]]):
    """Endless batches (x0, x1), rows of p0 and of p1 that know nothing of each other.

    int32 [rows,D] each: NumPy for device "cpu", else torch (or CuPy) arrays made on that GPU, in
    the order of its current stream. A seed's rows follow each other whatever the size of the
    batches; `first_row` says where the next one begins, so that a loop can be taken up again.
    Threads may share them: each batch is one thread's.
    """

    def __init__(
        self, pair: _core.Pair, rows: int, seed: int, device: Any = "cpu", first_row: int = 0
    ):
        if rows < 1:
            raise ValueError(f"[python] rows must be at least 1, got {rows}")
        self._pair, self._rows, self._seed = pair, rows, seed
        self._empty = _states_on(device, rows, pair.dim)
        self.first_row = first_row

    def __next__(self) -> tuple[Any, Any]:
        with _taking_rows:
            first = self.first_row
            self.first_row = first + self._rows
        try:
            x0, x1 = self._empty(), self._empty()
            _core.fill_ends(self._pair, self._seed, first, x0, x1)
        except BaseException:
            with _taking_rows:  # an interrupted batch is drawn again, unless others went past it
                if self.first_row == first + self._rows:
                    self.first_row = first
            raise
        return x0, x1
