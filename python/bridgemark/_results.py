"""Scores of a solver: evaluate, its result, and several results side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core
from ._arguments import require_flag, require_number, require_path, require_text
from ._labels import LabelledCoupling
from ._metrics import own_scores, require_metrics
from ._outside import OutsideCoupling
from ._progress import is_watched, reporter
from ._record import Record
from ._solvers import Solver
from ._tables import Table, import_pandas

if TYPE_CHECKING:
    import pandas


class Result(Record):
    """Scores of one solver on one pair, and how they came about.

    A mapping with the keys of `bridgemark evaluate --json`: each score's mean by its name (None
    where it is infinite, then it is named in `infinite`, or cannot be given, then `missing` says
    why), `standard_errors` (None where nothing was drawn anew), `values` for each seed, `blocks`
    (rows and means over blocks of the test inputs, see paired_difference), `joint_kl_bound`
    ("exact", or "upper" where it comes from particles) and what else says how that came about, and
    pair, seed, version, machine and time. `print(result)` shows the scores, `label` is what it
    calls the solver.
    """

    def __init__(self, values: Mapping[str, Any], label: str):
        super().__init__(values)
        self.label = label

    @property
    def scores(self) -> dict[str, float | None]:
        """The mean of each score, in the order of the protocol."""
        return {name: mean for name, mean in self._values.items() if name in self["values"]}

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with one row a score: mean and standard_error. Needs pandas."""
        errors = self["standard_errors"]
        return import_pandas().DataFrame(
            {
                "mean": {name: self._shown(name) for name in self.scores},
                "standard_error": {name: errors[name] for name in self.scores},
            },
            index=list(self.scores),
            dtype=float,
        )

    def __str__(self) -> str:
        errors, missing = self["standard_errors"], self["missing"]
        scores = [
            (name, self._shown(name), errors[name], missing.get(name)) for name in self.scores
        ]
        text = _core.score_list(self.label, self["pair"], self["num_seeds"], scores)
        if self._bound_change() is not None:
            keys = ("rows", "particles", "half_particles_change", "worst_share")
            text += "\n" + _core.joint_kl_text(*(self[f"joint_kl_{key}"] for key in keys))
        return text

    def _bound_change(self) -> float | None:
        """What half of the particles would add to a joint KL that is an upper bound, else None."""
        if self.get("joint_kl_bound") != "upper":
            return None
        change = self["joint_kl_half_particles_change"]
        return math.inf if change is None else change

    def _shown(self, name: str) -> float | None:
        """A score for a table: infinite ones are told from those that cannot be given."""
        return math.inf if name in self["infinite"] else self[name]

    def _repr_html_(self) -> str:
        errors = self["standard_errors"]
        rows = (
            {self.label: name, "mean": self._shown(name), "standard error": errors[name]}
            for name in self.scores
        )
        return Table(rows)._repr_html_()


def _label(coupling: Any) -> str:
    if isinstance(coupling, (Solver, _core.Coupling)):
        return coupling.name if isinstance(coupling, Solver) else coupling.solver
    if isinstance(coupling, LabelledCoupling):
        return _label(next(iter(coupling.values())))
    if isinstance(coupling, tuple):
        return "answers"
    return getattr(coupling, "__name__", type(coupling).__name__)


def evaluate(
    pair: _core.Pair | str | os.PathLike[str],
    coupling: Solver | _core.Coupling | OutsideCoupling | Callable[[Any], Any] | tuple[Any, Any],
    *,
    seed: int | np.random.Generator | None = 0,
    num_seeds: int = _core.DEFAULT_SEEDS,
    num_steps: int | None = None,
    num_trajectories: int = _core.DEFAULT_TRAJECTORIES,
    conditional_samples: int = _core.DEFAULT_CONDITIONAL_SAMPLES,
    c2st: bool = False,
    particles: int = _core.DEFAULT_PARTICLES,
    max_seconds: float = _core.DEFAULT_MAX_SECONDS,
    like: Any = None,
    metrics: Mapping[str, Callable[[Any, Any, Any], float]] | None = None,
    label: str | None = None,
    add_to: str | os.PathLike[str] | None = None,
    submission: str | os.PathLike[str] | None = None,
    answer: str | os.PathLike[str] | None = None,
    training_seed: int = 0,
    training_seconds: float | None = None,
    samples: int = 0,
    training_set: int = 0,
    progress: bool | Callable[[str, int, int, str], object] | None = None,
    device: str = "cpu",
) -> Result:
    """Score a solver against the truth of a pair, given as it is or by its name or folder.

    `coupling` is one of
      - a fitted solver, or a Coupling;
      - an object of your own with sample(x0, seed) and, for the exact, joint and trajectory
        scores, the log-probabilities that it knows: see OutsideCoupling;
      - a callable that takes x0, int32 [B,D], and returns x1, integers [B,D], in any array library
        and on any device. It is called in this thread, once for the test set [20000,D] and once
        for each of the 157 conditional inputs, repeated [conditional_samples,D]. Its x0 is NumPy,
        or in the library and on the device of the array `like`, as are an object's arrays;
      - the answers themselves, (x1 [20000,D], conditional_x1 [157,conditional_samples,D]): one x1
        for each row of pair.test_set()[0], and conditional_samples for each row of
        pair.conditional_inputs().

    `seed`, an int, a numpy.random.Generator that one is drawn from or None for a fresh one (the
    result says which), decides the draws of the protocol and of a Coupling (a callable has its
    own), for `num_seeds` repetitions with seeds seed, seed + 1, ... Answers given as arrays are the
    same in each repetition: their scores against the test set have no standard error, and that of
    their conditional scores is the truth's share of the noise. `num_steps` is the grid of the
    trajectory KL, where the solver has transitions for it; without it, the one that the solver was
    trained with, else 16. More `conditional_samples` raise the ceiling of the conditional scores.
    `c2st` also trains a classifier to tell (x0, x1) apart; a reversed pair always has it. A solver
    that has steps alone (CSBM, or an object with log_transition_marginals) gets its joint KL by
    `particles` for each test row: an upper bound that more of them lower (`joint_kl_bound` says
    "upper"); 0 leaves it out. It takes the first 2,000 test rows, more while its error is above 5
    %, and fewer where `max_seconds` are over (math.inf: no bound). `label` names the result. With
    `add_to`, the folder of `bridgemark run`, the result enters the tables and the report of that
    experiment under its label; the same label, pair and seed again replace it, and
    `training_seconds` places it in the figure of score and time. With `submission`, a
    folder, the answers are kept there for the board under the label, with the seed and the seconds
    of the training behind them; what is scored are the kept answers, in every repetition the same,
    and check_submission finds the same scores. With `answer`, a folder of new inputs that
    check_submission(..., ask=...) made for this pair, the answers to them are written there and
    scored.
    `metrics` are scores of your own by their names: functions of the test inputs x0, the truth's x1
    of each and the x1 that the solver draws for them, integer arrays [20000,D] of NumPy, that
    return a number. They come after the protocol's scores in `scores`, printed and in compare, over
    the same repetitions. With `add_to` the experiment keeps them, and its tables and report show
    them in a group of their own; a submission has the protocol's scores alone.
    `samples` and `training_set` say that a solver of your own was trained on
    pair.training_set(samples, training_set) instead of endless draws; fits of this package know it.
    A solver that was fitted to arrays is scored on a pair whose reference, S and D are those of its
    fit.
    `progress` is True or a callable, as for fit. Without it a solver of your own that has steps, a
    torch network for one, shows a line on a terminal or in a notebook: its joint KL takes long.
    `device` is where native code runs: 'cpu', or 'cuda' in a build that has it.
    """
    require_text(device=device)
    require_flag(c2st=c2st)
    require_number(max_seconds=max_seconds)
    if label is not None:
        require_text(label=label)
    if add_to is not None:
        require_path(add_to=add_to)
    if submission is not None:
        require_path(submission=submission)
    if answer is not None:
        require_path(answer=answer)
    if training_seconds is not None:
        require_number(training_seconds=training_seconds)
    if isinstance(coupling, type) and issubclass(coupling, Solver):
        raise TypeError(
            f"[evaluate] coupling must be a fitted solver, {coupling.__name__}().fit(pair), "
            f"got the class {coupling.__name__}"
        )
    if metrics is not None:
        require_metrics(metrics)
        for given, folder in (("submission", submission), ("answer", answer)):
            if folder is not None:
                raise ValueError(
                    "[evaluate] metrics go into results and experiments alone, got "
                    f"{given} beside them"
                )
    name = label if label is not None else _label(coupling)
    scored = coupling.coupling if isinstance(coupling, Solver) else coupling
    if progress is None:
        progress = hasattr(scored, "log_transition_marginals") and is_watched()
    values = _core.evaluate(
        pair,
        scored,
        seed=seed,
        num_seeds=num_seeds,
        num_steps=num_steps,
        num_trajectories=num_trajectories,
        conditional_samples=conditional_samples,
        c2st=c2st,
        particles=particles,
        max_seconds=float(max_seconds),
        like=like,
        add_to=add_to,
        submission=submission,
        answer=answer,
        training_seed=training_seed,
        training_seconds=None if training_seconds is None else float(training_seconds),
        samples=samples,
        training_set=training_set,
        label=label,
        own_scores=partial(own_scores, metrics, _pair_of(pair), scored, like) if metrics else None,
        progress=reporter(progress),
        device=device,
    )
    return Result(values, name)


def _pair_of(pair: _core.Pair | str | os.PathLike[str]) -> _core.Pair:
    return pair if isinstance(pair, _core.Pair) else _core.load(pair)


class Difference(NamedTuple):
    """The difference of two scores on the same test inputs, and how sure it is."""

    mean: float
    half_width: float

    @property
    def separated(self) -> bool:
        """Whether the interval of the mean excludes 0: the two are told apart."""
        return abs(self.mean) > self.half_width


def paired_difference(
    first: Result | Sequence[Result], second: Result | Sequence[Result], score: str
) -> Difference:
    """Compare two results on the test inputs they share: a score of `first` minus that of `second`.

    `half_width` is that of the 99 % interval on its side towards 0, from a bootstrap over blocks of
    inputs: what makes an input hard for both cancels, so smaller gaps are told apart than standard
    errors of each would tell. The same comparison makes the groups of ties in tables. One result
    stands for the trained model that it scored; a sequence of results, one for each training of a
    solver, stands for the solver, and the spread of its trainings widens the interval. Of a joint
    KL that is an upper bound the bounds are compared: they can show a solver better, not worse.

    Raises ValueError where a result has no blocks for the score (it is no mean over inputs, or
    cannot be given) or where the results are of different pairs, numbers of inputs or, for what is
    drawn for each input, numbers of draws.
    """
    sides = [[s] if isinstance(s, Result) else list(s) for s in (first, second)]
    if not all(sides):
        raise ValueError("[paired_difference] first and second must have a result each, got none")
    for result in (result for side in sides for result in side):
        if not isinstance(result, Result):
            raise TypeError(
                "[paired_difference] first and second must be what evaluate returned, or sequences "
                f"of it, got {result!r:.80}"
            )
        over_blocks = result.get("blocks", {})
        if score not in over_blocks:
            raise ValueError(
                f"[paired_difference] score must be one of {', '.join(over_blocks) or 'none'}, "
                f"which '{result.label}' has over blocks of inputs, got '{score}'"
            )
        if result["pair_identity"] != sides[0][0]["pair_identity"]:
            raise ValueError(
                "[paired_difference] results must be of one pair, got "
                f"'{sides[0][0]['pair']}' and '{result['pair']}'"
            )
        draws = [r["conditional_samples"] for r in (sides[0][0], result)]
        if _core.is_of_conditional_samples(score) and draws[0] != draws[1]:
            raise ValueError(
                "[paired_difference] results must have the same conditional_samples, which decide "
                f"the ceiling of {score}, got {draws[0]} and {draws[1]}"
            )
    blocks = [[(r["blocks"][score]["rows"], r["blocks"][score]["means"]) for r in s] for s in sides]
    found = _core.compare_blocks(*blocks)
    if found is None:
        raise ValueError(
            "[paired_difference] results must have the same number of inputs, at least 10, got "
            + " and ".join(str(rows) for rows in sorted({b[0] for side in blocks for b in side}))
        )
    return Difference(*found)


def _tie_letters(named: Mapping[str, Result], score: str) -> dict[str, str]:
    """The group of ties of each result among those on its pair."""
    letters: dict[str, str] = {}
    for pair in dict.fromkeys(result["pair"] for result in named.values()):
        rows, labels = [], []
        for label, result in named.items():
            mean = result._shown(score) if score in result.scores else None
            if result["pair"] != pair or mean is None:
                continue
            blocks = result.get("blocks", {}).get(score, {"rows": 0, "means": []})
            error = result["standard_errors"][score]
            bound = result._bound_change() if score == _core.JOINT_KL else None
            rows.append((label, mean, error, blocks["rows"], blocks["means"], bound))
            labels.append(label)
            reverse = result["pair_identity"]["reverse"]
        if rows:
            letters |= dict(zip(labels, _core.tie_letters(score, reverse, rows)))
    return letters


def compare(
    results: Sequence[Result] | Mapping[str, Result], *scores: str, ties: bool = False
) -> Table:
    """Several results side by side: one row a result, one column a score.

    A mapping names the rows. Without `scores` every score is shown. With `ties` a column of letters
    follows each score that tables of the report have: rows that share one are not told apart on the
    test inputs (see paired_difference), and `a` has the best; a row called `oracle` is the ceiling
    and has none, nor has an upper bound of which it is not decided whether it is worse. Raises
    ValueError for a score that a result does not have.
    """
    require_flag(ties=ties)
    given = list(results.values() if isinstance(results, Mapping) else results)
    if isinstance(results, Result) or not all(isinstance(r, Result) for r in given):
        raise TypeError(
            "[compare] results must be a sequence or a mapping of what evaluate returned, got "
            + ("one Result" if isinstance(results, Result) else f"{results!r:.80}")
        )
    named = results if isinstance(results, Mapping) else {r.label: r for r in results}
    if len(named) != len(results):
        raise ValueError("[compare] results must have labels of their own: pass a dict of results")
    columns = list(scores) or list(dict.fromkeys(s for r in named.values() for s in r.scores))
    for label, result in named.items():
        for score in scores:
            if score not in result.scores:
                raise ValueError(
                    f"[compare] a score of '{label}' must be one of "
                    f"{', '.join(result.scores)}, got '{score}'"
                )
    rows = {label: {"solver": label, "pair": r["pair"]} for label, r in named.items()}
    shown = ["solver", "pair"]
    for column in columns:
        shown.append(column)
        for label, r in named.items():
            rows[label][column] = r._shown(column) if column in r.scores else None
        letters = _tie_letters(named, column) if ties else {}
        if any(letters.values()):
            shown.append(f"{column} ties")
            for label, row in rows.items():
                row[shown[-1]] = letters.get(label, "")
    return Table(rows.values(), shown)
