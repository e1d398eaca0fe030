"""A fitted bridge as a pair whose truth it is."""

from __future__ import annotations

import os

import numpy as np

from . import _core
from ._arguments import require_flag, require_text
from ._solvers import Solver, load_solver


def distill(
    run: Solver | _core.Coupling | str | os.PathLike[str],
    *,
    name: str = "distilled",
    seed: int | np.random.Generator | None = 0,
    data_name: str = "",
    accept_overfitted: bool = False,
) -> _core.Pair:
    """Declare what a solver was fitted to be the truth: a pair that looks like its data.

    `run` is a fitted solver with a potential and a law of x0 (`DLightSB`, `DLightSBM`,
    `DLightSBChain`, `DLightSBTree`), its coupling or its run folder. p0 of the pair is that law, or
    a mixture fitted to the same rows where it is a hidden chain. Its bridge is the one that was
    fitted, and its p1 what the bridge makes of p0, so both directions are known. `seed` decides its
    test set, and `data_name` what own data are called in `pair.origin`.

    Raises ValueError for a fit to rows that rows held out find overfitted, or that none have
    judged, unless `accept_overfitted`.

        solver = bm.DLightSB().fit(x0, x1, reference="gaussian")
        pair = bm.distill(solver, name="threes-to-eights")
        print(bm.evaluate(pair, bm.CSBM().fit(pair)))
    """
    require_text(name=name, data_name=data_name)
    require_flag(accept_overfitted=accept_overfitted)
    if isinstance(run, (str, os.PathLike)):
        run = load_solver(run)
    return _core.distill(
        run.coupling if isinstance(run, Solver) else run,
        name=name,
        seed=seed,
        data_name=data_name,
        accept_overfitted=accept_overfitted,
    )
