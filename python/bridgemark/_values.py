"""Pairs and couplings as values: pickling and equality, through the files that they are kept in.

A preset travels by its name, any other pair as its folder, a coupling as its run folder with the
pair or the data it was fitted to. What is unpickled draws the same states.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from . import _core

Files = dict[str, bytes]


def _read(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _write(files: Files, folder: Path) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _run_files(coupling: _core.Coupling) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        coupling.save(Path(folder) / "run")
        return _read(Path(folder) / "run")


def _preset(name: str) -> _core.Pair:
    return _core.load(name)  # native functions have no pickles


def _pair_from_files(files: Files) -> _core.Pair:
    with tempfile.TemporaryDirectory() as folder:
        _write(files, Path(folder))
        return _core.load(folder)


def _coupling_from_files(files: Files, pair: _core.Pair | None) -> _core.Coupling:
    with tempfile.TemporaryDirectory() as folder:
        _write(files, Path(folder))
        return _core.load_coupling(folder, pair)


def _reversed(forward: _core.Coupling) -> _core.Coupling:
    return forward.reversed()


def reduce_pair(pair: _core.Pair) -> tuple[Any, ...]:
    """What Pair.__reduce__ returns."""
    name = pair.name.removesuffix("-reverse") if pair.reverse else pair.name
    if name in _core.presets() and _core.load(pair.name) == pair:
        return _preset, (pair.name,)
    with tempfile.TemporaryDirectory() as folder:
        pair.save(folder)
        return _pair_from_files, (_read(Path(folder)),)


def reduce_coupling(coupling: _core.Coupling) -> tuple[Any, ...]:
    """What Coupling.__reduce__ returns."""
    if coupling.is_reversed:
        return _reversed, (coupling.reversed(),)
    return _coupling_from_files, (_run_files(coupling), coupling.pair)


def equal_couplings(a: _core.Coupling, b: Any) -> Any:
    """What Coupling.__eq__ returns: the same fit of the same solver, with the same parameters."""
    if not isinstance(b, _core.Coupling):
        return NotImplemented
    described = [
        (c.solver, c.seed, c.samples, c.training_set, c.options, c.is_reversed, c.pair is None)
        for c in (a, b)
    ]
    if described[0] != described[1] or a.pair != b.pair:
        return False
    files = [_run_files(c.reversed() if c.is_reversed else c) for c in (a, b)]
    return all(
        files[0].get(name) == files[1].get(name)
        for name in ("model.safetensors", "data.safetensors")
    )
