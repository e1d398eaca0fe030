"""One call from a solver to a report card: a stated suite of pairs within a budget of time."""

from __future__ import annotations

import html
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._arguments import require_number, require_text
from ._metrics import Metric, require_metrics
from ._outside_solvers import fit_by_defaults, is_of_experiments
from ._paper import paper_results
from ._progress import Reporter, reporter
from ._record import Record
from ._results import _label, evaluate
from ._solvers import Solver, make_solver
from ._tables import Table

# From quick to slow; each pair after the first shows something that those before it do not.
_SUITE = (
    "d2-gaussian-0.02-spread",  # has published numbers
    "d2-uniform-0.005-spread",  # another reference
    "d2-gaussian-0.02-chain",  # of no solver's own form
    "d16-gaussian-0.02-spread",
    "d16-uniform-0.005-spread",
    "d16-gaussian-0.02-chain",
    "d64-gaussian-0.02-spread",
    "d64-uniform-0.005-spread",
)
_SCORE = "conditional_shape_score"
_UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}
_COLUMNS = ("pair", "joint_kl", "joint_kl_error", _SCORE, "oracle", "independent", "share")


def benchmark_suite() -> list[str]:
    """The pairs of `benchmark`, in their order: presets, which never change."""
    return list(_SUITE)


def _seconds(budget: float | str) -> float:
    """ "5min", "90 s" or a number of seconds."""
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(s|min|h|)\s*", budget)
        if not found:
            raise ValueError(
                f"[benchmark] budget must be seconds or like '90s', '5min' or '1h', got {budget!r}"
            )
        budget = float(found[1]) * _UNITS[found[2]]
    require_number(budget=budget)
    if not budget > 0:
        raise ValueError(f"[benchmark] budget must be above 0 seconds, got {budget}")
    return float(budget)


class BenchmarkCard(Record):
    """What `benchmark` found: a solver on each pair of the suite, between two bounds.

    A mapping with `label`, `rows` (one for each pair: its scores, and `share`, how much of the way
    from a solver that ignores x0 to the truth it went by the conditional shape score), `metrics`
    (the names of scores of your own), `not_run`
    (pairs that the budget had no room for), `budget_seconds`, `seconds`, `seed` and `version`.
    `print(card)` shows it, `card.to_html(path)` writes a page, `card.to_latex()` is a table with
    the published methods.
    """

    def table(self) -> Table:
        """One row a pair: joint_kl with its error, the conditional shape score between that of the
        Oracle and that of a solver that ignores x0, the share of the way, scores of your own, and
        seconds of training.
        """
        columns = (*_COLUMNS, *self["metrics"], "training_seconds")
        return Table(({key: row[key] for key in columns} for row in self["rows"]), columns)

    def beside_published(self) -> Table:
        """The conditional shape scores of the paper's methods and of this solver, a row each.

        One column a pair that the paper has; numbers that were not published, or not measured, are
        None. The paper's pairs are lost, and the presets stand in for them (see paper_results).
        """
        published = paper_results(_SCORE)
        pairs = [p for p in self._pairs() if any(row["pair"] == p for row in published)]
        rows: dict[str, dict[str, Any]] = {}
        for row in published:
            marks = [str(row[key]) for key in ("loss", "steps") if row[key] is not None]
            method = row["method"] + (f" ({', '.join(marks)})" if marks else "")
            rows.setdefault(method, {"method": method} | dict.fromkeys(pairs))
            if row["pair"] in pairs:
                rows[method][row["pair"]] = row["value"]
        own = {row["pair"]: row[_SCORE] for row in self["rows"]}
        mine = {"method": self["label"]} | {pair: own[pair] for pair in pairs}
        return Table([*rows.values(), mine], ["method", *pairs])

    def to_latex(self) -> str:
        """A LaTeX tabular of `beside_published`, which needs the package booktabs."""
        return self.beside_published().to_latex()

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """A page that needs no other file; with a path it is written there as well."""
        sentences = "".join(f"<p>{html.escape(line)}</p>\n" for line in self._sentences())
        label = html.escape(self["label"])
        page = (
            f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{label}</title>\n'
            "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;"
            "padding:0 1rem}table{border-collapse:collapse}td,th{padding:.2rem .6rem;"
            "border-bottom:1px solid #bbb;text-align:right}td:first-child,th:first-child"
            "{text-align:left}</style>\n"
            f"<h1>{label}</h1>\n{sentences}<h2>Each pair</h2>\n{self.table()._repr_html_()}\n"
            f"<h2>Beside the published methods</h2>\n{self.beside_published()._repr_html_()}\n"
            "</html>\n"
        )
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _pairs(self) -> list[str]:
        return [row["pair"] for row in self["rows"]]

    def _sentences(self) -> list[str]:
        rows = self["rows"]
        share = sum(row["share"] for row in rows) / len(rows)
        said = [
            f"{self['label']} on {len(rows)} pair{'s' if len(rows) > 1 else ''} of the suite, in "
            f"{self['seconds']:.0f} s. By the conditional shape score it goes {share:.0%} of the "
            "way from a solver that ignores x0 to the truth, on average."
        ]
        exact = [row for row in rows if row["joint_kl"] is not None]
        if exact:
            worst = max(exact, key=lambda row: row["joint_kl"])
            said.append(
                f"It is farthest from the truth on {worst['pair']}: {worst['joint_kl']:.3g} nats."
            )
        else:
            said.append("Without log-probabilities it has no joint KL, the distance in nats.")
        if self["not_run"]:
            said.append(f"The budget had no room for {', '.join(self['not_run'])}.")
        return said

    def __str__(self) -> str:
        return "\n".join([*self._sentences(), str(self.table())])

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


_FITTED = (
    "which is of one pair; score it there with bm.evaluate(pair, f), or hand over its training, "
    "which each pair gets anew: bm.benchmark(lambda pair: train(pair)), where train returns f"
)


def _require_trainable(solver: Any) -> None:
    """Raises TypeError for what cannot be trained on one pair after another."""
    if hasattr(solver, "fit"):
        return
    if isinstance(solver, type):
        raise TypeError(f"[benchmark] a class must have fit(pair), got {solver.__name__}")
    if isinstance(solver, (tuple, _core.Coupling)) or hasattr(solver, "sample"):
        what = "answers" if isinstance(solver, tuple) else type(solver).__name__
        raise TypeError(f"[benchmark] solver must have fit(pair), got {what}, {_FITTED}")
    if not callable(solver):
        raise TypeError(
            "[benchmark] solver must be a solver, a class or an object with fit(pair), or a "
            f"function of a pair, got {solver!r:.80}"
        )


def _maps_states(function: Any, pair: _core.Pair) -> bool:
    """Whether it is a function x0 -> x1."""
    x0 = pair.sample_x0(2, seed=0)
    try:
        return bool(np.shape(function(x0)) == x0.shape)
    except Exception:
        return False


def _called(function: Any, pair: _core.Pair) -> Any:
    fitted = f"[benchmark] solver must be a function of a pair, got a function x0 -> x1, {_FITTED}"
    try:
        trained = function(pair)
    except Exception as error:
        if not _maps_states(function, pair):
            raise
        raise TypeError(fitted) from error
    if not _can_be_scored(trained) and _maps_states(function, pair):
        raise TypeError(fitted)
    return trained


def _can_be_scored(trained: Any) -> bool:
    if isinstance(trained, type):
        return False
    kinds = (Solver, _core.Coupling, tuple)
    return isinstance(trained, kinds) or hasattr(trained, "sample") or callable(trained)


def _made(kind: type[Any]) -> Any:
    try:
        return kind()
    except TypeError as error:
        name = kind.__name__
        raise TypeError(
            f"[benchmark] a class must be made without arguments, got {name}: {error}; an object "
            f"has them, bm.benchmark({name}(...))"
        ) from error


def _trained(solver: Any, pair: _core.Pair, seed: int, report: Reporter | None, device: str) -> Any:
    """What evaluate takes."""
    if isinstance(solver, type):
        solver = _made(solver)
    if isinstance(solver, Solver):
        anew = make_solver(solver.name, **solver.options)
        return anew.fit(pair, seed=seed, progress=report or False, device=device)
    if not hasattr(solver, "fit"):
        trained = _called(solver, pair)
    elif is_of_experiments(solver):
        trained = fit_by_defaults(solver, pair, seed, report, device)
    else:
        fitted = solver.fit(pair)
        trained = solver if fitted is None else fitted
    if not _can_be_scored(trained):
        raise TypeError(
            "[benchmark] solver must return what evaluate takes, such as a callable x0 -> x1 or an "
            f"object with sample(x0, seed), got {type(trained).__name__}"
        )
    return trained


def _within(name: str, report: Reporter | None) -> Reporter | None:
    """What the calls of one pair report to: what they say begins with its name."""
    if report is None:
        return None
    return lambda what, done, total, detail: report(f"{name}, {what}", done, total, detail)


def _row(
    solver: Any,
    pair: _core.Pair,
    seed: int,
    num_seeds: int,
    metrics: Mapping[str, Metric] | None,
    report: Reporter | None,
    device: str,
) -> dict[str, Any]:
    started = time.monotonic()
    trained = _trained(solver, pair, seed, report, device)
    training = time.monotonic() - started
    result = evaluate(
        pair,
        trained,
        seed=seed,
        num_seeds=num_seeds,
        like=getattr(trained, "like", None),
        metrics=metrics,
        progress=report or False,
        device=device,
    )
    bounds = [
        evaluate(
            pair,
            make_solver(name).fit(pair),
            seed=seed,
            particles=0,
            progress=report or False,
            device=device,
        )[_SCORE]
        for name in ("oracle", "independent")
    ]
    oracle, independent = bounds
    return {
        "pair": pair.name,
        "joint_kl": result["joint_kl"],
        "joint_kl_error": result["standard_errors"]["joint_kl"],
        _SCORE: result[_SCORE],
        "oracle": oracle,
        "independent": independent,
        "share": (result[_SCORE] - independent) / (oracle - independent),
        "training_seconds": training,
        **{name: result[name] for name in metrics or {}},
        "scores": result.scores,
    }


def benchmark(
    solver: Any,
    *,
    budget: float | str = "5min",
    pairs: Sequence[str] | None = None,
    label: str | None = None,
    seed: int = 0,
    num_seeds: int = 1,
    metrics: Mapping[str, Metric] | None = None,
    progress: bool | Callable[[str, int, int, str], object] = False,
    device: str = "cpu",
) -> BenchmarkCard:
    """Train a solver on one pair after another within a budget and return its report card.

    `solver` is
      - a solver of the library with its options, bm.DLightSB(components=300);
      - an object with fit(pair), which returns what `evaluate` takes, or itself has `sample`;
      - a class of such objects, made anew for each pair without arguments;
      - a class of an experiment, with fit(x0, x1, reference, options, run), or an object of it:
        it gets the pair as x0, and the defaults of its options;
      - a function of a pair that trains on it and returns what `evaluate` takes, for example a
        callable x0 -> x1. It should look at nothing of the pair but draws of its two ends
        (pair.sample_x0, pair.sample_x1, pair.training_set) and pair.reference.
    What is fitted already is of one pair: `evaluate` takes it. States come in the library and on
    the device of the array `like` of what was trained, where it has one.

    `pairs` are those of `benchmark_suite()`, in its order, or names of your own. A pair is begun
    where the budget, seconds or a text like '90s', '5min' or '1h', is likely to have room for it;
    the first always is, and one that has begun is finished. `seed` and `num_seeds` are those of
    `evaluate`, and `seed` that of the training of a library's solver. `metrics` are scores of your
    own, as for `evaluate`: columns of the card. `progress` is True for a line on standard error, or
    a callable (what, done, total, detail): it says which pair is trained on and how much of the
    budget is over, then what fit and `evaluate` say.
    """
    if label is not None:
        require_text(label=label)
    if metrics is not None:
        require_metrics(metrics)
        for name in metrics:
            if name in (*_COLUMNS, "training_seconds", "scores"):
                raise ValueError(
                    f"[benchmark] the name of a metric must be no column of the card, got '{name}'"
                )
    seconds = _seconds(budget)
    names = benchmark_suite() if pairs is None else list(pairs)
    if not names or isinstance(pairs, str):
        raise ValueError(f"[benchmark] pairs must be a list of names, got {pairs!r:.80}")
    _require_trainable(solver)
    report = reporter(progress, at_once=True)
    started = time.monotonic()
    rows: list[dict[str, Any]] = []
    last = 0.0  # seconds of the last pair, for each of its dimensions
    for name in names:
        pair = _core.load(name)
        elapsed = time.monotonic() - started
        if rows and elapsed + last * pair.dim > seconds:
            break
        if report:
            over = f"{name}, {elapsed:.0f} s of {seconds:.0f} s are over"
            report("benchmark", len(rows), len(names), over)
        rows.append(_row(solver, pair, seed, num_seeds, metrics, _within(name, report), device))
        last = (time.monotonic() - started - elapsed) / pair.dim
    return BenchmarkCard(
        {
            "label": label if label is not None else _label(solver),
            "rows": rows,
            "metrics": list(metrics or {}),
            "not_run": names[len(rows) :],
            "budget_seconds": seconds,
            "seconds": time.monotonic() - started,
            "seed": seed,
            "version": _core.version,
        }
    )
