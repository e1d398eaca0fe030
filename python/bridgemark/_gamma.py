"""What gamma changes on data: bridges fitted at several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arguments import require_number, require_text
from ._progress import reporter
from ._record import Record
from ._tables import Table

_COLUMNS = ("gamma", "movement_share", "told", "conditional_entropy", "relative_cost", "fits")
_SCORES = {"path_kl": "reference_kl", "shape": "shape_score"}


class GammaScan(Record):
    """What `scan_gamma` found: what a bridge does at each gamma.

    A mapping with the keys of `bridgemark gamma --json`: `points`, one for each gamma with how far
    the reference alone leads (`movement_share`), the share of x1's entropy that x0 tells (`told`),
    the entropy of x1 given x0, the transport cost over that of unpaired rows and all `scores` of
    `evaluate --x0 --x1`; `proposed` and `half_told`, two gammas to start from, `most_told`, and
    `sentences` on what may be said of them. `print(scan)` shows a table; a notebook shows the
    drawing, `scan.svg`.
    """

    def __init__(self, values: Mapping[str, Any], text: str, svg: str):
        super().__init__(values)
        self._text = text
        self.svg = svg

    def table(self) -> Table:
        """One row a gamma, without those that have no bridge: gamma, movement_share, told,
        conditional_entropy, relative_cost, fits, path_kl, shape."""
        return Table(
            [
                {key: point[key] for key in _COLUMNS}
                | {key: point["scores"][score]["value"] for key, score in _SCORES.items()}
                for point in self["points"]
                if point["failure"] is None
            ]
        )

    def __str__(self) -> str:
        return self._text

    def _repr_svg_(self) -> str:
        return self.svg


def _setting(key: str, value: Any) -> str:
    parts = value if isinstance(value, (list, tuple)) else [value]
    return f"{key}={','.join(str(part) for part in parts)}"


def scan_gamma(
    x0: Any,
    x1: Any,
    *,
    reference: str = "gaussian",
    gammas: Sequence[float] | None = None,
    num_categories: int | None = None,
    total_steps: int = 128,
    solver: str = "dlightsb",
    holdout: float = 0.2,
    seed: int | np.random.Generator | None = 0,
    progress: bool | Callable[[str, int, int, str], object] = False,
    device: str = "cpu",
    **options: Any,
) -> GammaScan:
    """Show what gamma changes on data: fit a bridge at each of several and look at what it does.

    `x0` [n,D] and `x1` [m,D] are unpaired rows. The share `holdout` of either end is kept apart,
    `solver` is fitted to the others at each of `gammas`, and the numbers are those of its answers
    to the rows kept apart. Without `gammas` there are eight, at which the reference alone,
    'gaussian' or 'uniform', leads 0.02 to 0.95 of the way from staying at x0 to forgetting it.
    `options` are those of the solver; for 'dlightsb' they go over quick ones (components=32,
    updates=500, refit='no', source='none').

    Rows of two ends cannot choose gamma, since every gamma has a bridge that fits both, and
    held-out objectives over different gammas do not compare. The scan says how much of x0 each
    keeps: `scan["half_told"]` is the gamma at which x0 tells half of the most that it tells of x1
    at any of them that fits, `scan["proposed"]` what `fit` takes without a gamma.
    """
    require_text(reference=reference, solver=solver, device=device)
    require_number(holdout=holdout)
    values, text, svg = _core.scan_gamma(
        x0,
        x1,
        reference=reference,
        gammas=[] if gammas is None else [float(gamma) for gamma in gammas],
        num_categories=num_categories,
        total_steps=total_steps,
        solver=solver,
        settings=[_setting(key, value) for key, value in options.items()],
        holdout=float(holdout),
        seed=seed,
        progress=reporter(progress),
        device=device,
    )
    return GammaScan(values, text, svg)
