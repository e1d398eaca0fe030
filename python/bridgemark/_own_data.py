"""Solvers compared on data, which has no truth."""

from __future__ import annotations

import copy
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import require_path, require_text
from ._labels import LabelledCoupling, condition_of
from ._outside import OutsideCoupling
from ._progress import reporter
from ._record import Record
from ._results import Difference, _label
from ._solvers import Solver
from ._tables import Table, import_pandas

if TYPE_CHECKING:
    import pandas

# What is told apart: a difference beyond so many standard errors, as the printed sentences say.
_ERRORS_APART = 2.0
# What a first look shows.
_BRIEF_SCORES = ("held_out_objective", "shape_score", "c2st_auc", "copies", "changed")


def _number(value: float | str | None) -> float | None:
    """A number of the record, whose infinities are texts."""
    return float(value) if isinstance(value, str) else value


class DataComparison(Record):
    """What `compare_on` found: scores of each solver on rows it was not trained on.

    A mapping with the keys of `bridgemark evaluate --x0 --x1 --json`: `runs`, one for each solver
    with its `name`, its `scores` and what is known of its training rows, `differences` of held-out
    objectives, `warnings`, `meanings` of the scores, and rows, seed, version, machine and time.
    `print(comparison)` shows all with what it means.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        text: str,
        order: Sequence[str],
        label_texts: Mapping[int, str] | None = None,
    ):
        super().__init__(values)
        self._text = text
        self._order = list(order)
        self._label_texts = dict(label_texts or {})

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

    def of_label(self, label: int) -> DataComparison:
        """The comparison on the rows of a label, where compare_on was given a condition.

        Raises ValueError for a label that is not there.
        """
        for found in self.get("labels", []):
            if found["label"] == label:
                values = {**found, "meanings": self["meanings"]}
                return DataComparison(values, self._label_texts[label], self._order)
        known = ", ".join(map(str, self._label_texts)) or "none"
        raise ValueError(f"[compare_on] label must be one of the condition, {known}, got {label}")

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

    def brief(self, *scores: str) -> Table:
        """One row a solver and one column a score, the values alone: what a first look needs.

        The last row, 'beside', is what the scores are held against: ceilings, held-out rows, rows
        that ignore x0 (`meanings` says which), from the first solver that has them. Without names:
        how near bridges are, how draws fit x1, whether they repeat rows, what they change. Raises
        ValueError for a score that is not there.
        """
        shown = scores or _BRIEF_SCORES
        for name in shown:
            if name not in self._order:
                raise ValueError(
                    f"[compare_on] score must be one of {', '.join(self._order)}, got {name!r:.80}"
                )
        rows = [
            {"solver": run["name"]} | {n: _number(run["scores"][n]["value"]) for n in shown}
            for run in self["runs"]
        ]
        beside = {name: [run["scores"][name]["beside"] for run in self["runs"]] for name in shown}
        known = {
            name: next((_number(value) for value in values if value is not None), None)
            for name, values in beside.items()
        }
        return Table([*rows, {"solver": "beside"} | known])

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
        if not name.isprintable() or not name.strip():
            raise ValueError(f"[compare_on] a name must be a line of text, got {name!r:.80}")
    return list(names)


def _words_of(vocabulary: Sequence[str] | None, has_page: bool) -> list[str]:
    """The words of a page's rows; none without a vocabulary."""
    if vocabulary is None:
        return []
    if isinstance(vocabulary, str) or not isinstance(vocabulary, Sequence):
        are_words = False
    else:
        are_words = len(vocabulary) > 0 and all(isinstance(word, str) for word in vocabulary)
    if not are_words or not has_page:
        raise ValueError(
            "[compare_on] vocabulary must be a list of words, one for each category, and goes with "
            f"report, got {vocabulary!r:.80}"
        )
    return list(vocabulary)


def _native(solver: Any) -> Any:
    """What the native part compares: couplings, dicts of them by label, outside solvers."""
    if isinstance(solver, Solver):
        solver = solver._by_label or solver.coupling
    return dict(solver) if isinstance(solver, LabelledCoupling) else solver


def compare_on(
    x0: Any,
    x1: Any,
    solvers: Sequence[
        Solver | _core.Coupling | LabelledCoupling | OutsideCoupling | Callable[[Any], Any]
    ],
    *,
    condition: tuple[Any, Any] | None = None,
    seed: int | np.random.Generator | None = 0,
    names: Sequence[str] | None = None,
    num_categories: int | None = None,
    like: Any = None,
    progress: bool | Callable[[str, int, int, str], object] = False,
    device: str = "cpu",
    report: str | os.PathLike[str] | None = None,
    vocabulary: Sequence[str] | None = None,
) -> DataComparison:
    """Compare solvers on rows of data that none of them was trained on; no truth is needed.

    `x0` [n,D] and `x1` [m,D] are unpaired rows of both ends. Each of `solvers` is a fitted solver,
    a Coupling, an object of your own with sample(x0, seed) (see OutsideCoupling) or a callable
    x0 -> x1. Bridges have a held-out objective: with the same reference, the difference of two is
    an unbiased estimate of how much nearer one is to the true bridge, in nats, with an error. Every
    solver gets the fit of its draws to x1 beside the ceiling that training rows reach, what it
    repeats of its training rows, what its transport costs, and, where it answers both directions,
    how these fit each other; a chain solver also its distance to the best bridge beside it.

    `condition` is (labels0, labels1), integers [n] and [m]: the rows of each label are then
    compared by themselves, numbers are means over labels, and `of_label` has those of one. A solver
    that was fitted with a condition needs it; any other answers all labels alike.

    A UserWarning says where rows were trained on, or seem to be given in the wrong order. `names`
    names the solvers, else their own names do. `num_categories` is S where all solvers are your
    own; else it is that of the fitted ones. `seed` decides the draws, `like` and `device` are those
    of evaluate. `report` is a page to write, an HTML file: the scores, and rows before and after as
    images where D is a square, as words where `vocabulary` has one for each category, else as a
    heat map.
    """
    require_text(device=device)
    if report is not None:
        require_path(report=report)
    words = _words_of(vocabulary, report is not None)
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
    values, text, order, label_texts = _core.compare_on(
        x0,
        x1,
        [_native(solver) for solver in solvers],
        _names_of(solvers, names),
        condition=None if condition is None else condition_of(condition),
        seed=seed,
        num_categories=num_categories,
        like=like,
        progress=reporter(progress),
        device=device,
        report=report,
        vocabulary=words,
    )
    for warning in values["warnings"]:
        warnings.warn(warning, UserWarning, stacklevel=2)
    return DataComparison(values, text, order, label_texts)
