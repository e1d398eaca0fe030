"""Solvers compared on data, which has no truth."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import require_text
from ._outside import OutsideCoupling
from ._progress import reporter
from ._results import Difference, _label
from ._solvers import Solver
from ._tables import Table, import_pandas

if TYPE_CHECKING:
    import pandas

# What is told apart: a difference beyond so many standard errors, as the printed sentences say.
_ERRORS_APART = 2.0


def _number(value: float | str | None) -> float | None:
    """A number of the record, whose infinities are texts."""
    return float(value) if isinstance(value, str) else value


class DataComparison(Mapping[str, Any]):
    """What `compare_on` found: scores of each solver on rows it was not trained on.

    A mapping with the keys of `bridgemark evaluate --x0 --x1 --json`: `runs`, one for each solver
    with its `name`, its `scores` and what is known of its training rows, `differences` of held-out
    objectives, `warnings`, `meanings` of the scores, and rows, seed, version, machine and time.
    `print(comparison)` shows all with what it means.
    """

    def __init__(self, values: Mapping[str, Any], text: str, order: Sequence[str]):
        self._values = dict(values)
        self._text = text
        self._order = list(order)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def names(self) -> list[str]:
        """The solvers, as they are called."""
        return [run["name"] for run in self["runs"]]

    def scores(self, name: str) -> dict[str, dict[str, Any]]:
        """The scores of a solver: `value`, `standard_error`, `beside` and `missing` of each.

        Raises ValueError for a name that is not there.
        """
        for run in self["runs"]:
            if run["name"] == name:
                found = copy.deepcopy({score: run["scores"][score] for score in self._order})
                for score in found.values():
                    score["value"] = _number(score["value"])
                return found
        raise ValueError(
            f"[compare_on] name must be one of {', '.join(self.names)}, got {name!r:.80}"
        )

    def difference(self, first: str, second: str) -> Difference:
        """How much nearer `first` is to the bridge than `second`, in nats.

        `half_width` is two standard errors: `separated` says whether the two are told apart. Raises
        ValueError where their objectives do not compare, with the reason.
        """
        for given in (first, second):
            if given not in self.names:
                raise ValueError(
                    f"[compare_on] name must be one of {', '.join(self.names)}, got {given!r:.80}"
                )
        for found in self["differences"]:
            if {found["first"], found["second"]} != {first, second} or first == second:
                continue
            if found["missing"]:
                raise ValueError(f"[compare_on] {first} and {second}: {found['missing']}")
            sign = 1.0 if found["first"] == first else -1.0
            mean, error = _number(found["difference"]), _number(found["standard_error"])
            assert mean is not None and error is not None
            return Difference(sign * mean, _ERRORS_APART * error)
        raise ValueError(
            f"[compare_on] {first} and {second} must be two bridges: others have no objective"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain dicts, lists and numbers that json.dump takes."""
        return copy.deepcopy(self._values)

    def table(self) -> Table:
        """One row a score of a solver: solver, score, value, standard_error, beside, missing."""
        rows = [
            {"solver": run["name"], "score": name}
            | {key: run["scores"][name][key] for key in ("value", "standard_error", "beside")}
            | {"missing": run["scores"][name]["missing"] or ""}
            for name in self._order
            for run in self["runs"]
        ]
        for row in rows:
            for key in ("value", "standard_error"):
                row[key] = _number(row[key])
        return Table(rows)

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with one row a score and one column a solver: the values. Needs pandas."""
        values = {
            run["name"]: [
                math.nan if (value := _number(run["scores"][name]["value"])) is None else value
                for name in self._order
            ]
            for run in self["runs"]
        }
        return import_pandas().DataFrame(values, index=self._order, dtype=float)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _names_of(solvers: Sequence[Any], names: Sequence[str] | None) -> list[str]:
    """What solvers are called: their own names, numbered where they are equal."""
    if names is None:
        labels = [_label(solver) for solver in solvers]
        counts: dict[str, int] = {}
        for i, label in enumerate(labels):
            counts[label] = counts.get(label, 0) + 1
            if counts[label] > 1:
                labels[i] = f"{label} {counts[label]}"
        return labels
    if isinstance(names, str) or len(names) != len(solvers):
        raise ValueError(
            f"[compare_on] names must be {len(solvers)}, one for each solver, got {names!r:.80}"
        )
    for name in names:
        require_text(name=name)
    return list(names)


def compare_on(
    x0: Any,
    x1: Any,
    solvers: Sequence[Solver | _core.Coupling | OutsideCoupling | Callable[[Any], Any]],
    *,
    seed: int | np.random.Generator | None = 0,
    names: Sequence[str] | None = None,
    num_categories: int | None = None,
    like: Any = None,
    progress: bool | Callable[[str, int, int, str], object] = False,
    device: str = "cpu",
) -> DataComparison:
    """Compare solvers on rows of data that none of them was trained on; no truth is needed.

    `x0` [n,D] and `x1` [m,D] are unpaired rows of both ends. Each of `solvers` is a fitted solver,
    a Coupling, an object of your own with sample(x0, seed) (see OutsideCoupling) or a callable
    x0 -> x1. Bridges have a held-out objective: with the same reference, the difference of two is
    an unbiased estimate of how much nearer one is to the true bridge, in nats, with an error. Every
    solver gets the fit of its draws to x1 beside the ceiling that training rows reach, what it
    repeats of its training rows, what its transport costs, and, where it answers both directions,
    how these fit each other; a chain solver also its distance to the best bridge beside it.

    A UserWarning says where rows were trained on. `names` names the solvers, else their own names
    do. `num_categories` is S where all solvers are your own. `seed` decides the draws, `like` and
    `device` are those of evaluate.
    """
    require_text(device=device)
    if isinstance(solvers, (Solver, _core.Coupling, str)) or not isinstance(solvers, Sequence):
        raise TypeError(
            "[compare_on] solvers must be a sequence of fitted solvers, got "
            f"{type(solvers).__name__}"
        )
    for solver in solvers:
        if isinstance(solver, type) and issubclass(solver, Solver):
            raise TypeError(
                "[compare_on] solvers must be fitted, "
                f"{solver.__name__}().fit(x0, x1), got the class {solver.__name__}"
            )
    values, text, order = _core.compare_on(
        x0,
        x1,
        [solver.coupling if isinstance(solver, Solver) else solver for solver in solvers],
        _names_of(solvers, names),
        seed=seed,
        num_categories=num_categories,
        like=like,
        progress=reporter(progress),
        device=device,
    )
    for warning in values["warnings"]:
        warnings.warn(warning, UserWarning, stacklevel=2)
    return DataComparison(values, text, order)
