"""Figures of an experiment's results, as files: quality over time, scores by pair, trajectories."""

from __future__ import annotations

import fnmatch
import json
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _core
from ._arguments import require_path, require_text
from ._plots import _pyplot, plot_trajectories
from ._solvers import load_solver

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PathLike = str | os.PathLike[str]
FORMATS = ("svg", "png", "pdf")
# Without a date, so that the same results make the same bytes.
_NO_DATE: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
_SMALLEST_KL = 1e-5  # nats: a KL below, or an estimate below 0, is drawn here
_SHORTEST = 1e-3  # seconds
_COLUMNS = 4  # panels side by side
_MOST_METHODS = 7  # panels of trajectories beside the truth's
_SEED = 0


def _runs_of(folder: Path, only: Sequence[str]) -> list[dict[str, Any]]:
    _core.result_rows(folder)  # one line says what is wrong with the file
    with (folder / "results.jsonl").open(encoding="utf-8") as lines:
        runs = [json.loads(line) for line in lines if line.strip()]
    if not all("scores" in run for run in runs):
        raise ValueError(
            f"[figures] {folder / 'results.jsonl'} must have a line for each run, got a line for "
            "each score, as older versions wrote it"
        )
    kept = [run for run in runs if not only or any(_is_of(run["run"], part) for part in only)]
    if not kept:
        ids = ", ".join(run["run"] for run in runs[:3]) or "none"
        raise ValueError(f"[figures] only must match a run, such as {ids}, got {list(only)}")
    return kept


def _is_of(run: str, part: str) -> bool:
    """A part of the ID, or a pattern for all of it, as `bridgemark run --only` has it."""
    return fnmatch.fnmatchcase(run, part) if set(part) & set("*?") else part in run


def _scored(runs: list[dict[str, Any]], score: str) -> list[dict[str, Any]]:
    """Runs that have the score as a number."""
    return [run for run in runs if isinstance(run["scores"].get(score), (int, float))]


def _score_to_draw(runs: list[dict[str, Any]], score: str | None) -> str:
    """The one asked for, else the joint KL, else the conditional trend, which all solvers have."""
    names = list(dict.fromkeys(name for run in runs for name in run["scores"]["values"]))
    asked = [score] if score is not None else ["joint_kl", "conditional_trend_score"]
    for name in asked:
        if _scored([run for run in runs if not _is_ceiling(run)], name):
            return name
    raise ValueError(
        f"[figures] score must be one that runs have, {', '.join(names)}, got {' or '.join(asked)}"
    )


def _is_ceiling(run: dict[str, Any]) -> bool:
    return bool(run["solver"] == "oracle")


def _method(run: dict[str, Any]) -> str:
    """What tables call its row."""
    steps = f"{run['num_steps']} steps" if run["num_steps"] else ""
    details = ", ".join(part for part in (run["loss"].upper(), steps) if part)
    return f"{run['method']} ({details})" if details else str(run["method"])


def _column(run: dict[str, Any]) -> str:
    """A pair and, of training sets, their number of rows."""
    samples = run.get("samples", 0)
    return f"{run['pair']}, n = {samples}" if samples else str(run["pair"])


def _place(value: float, score: str) -> float:
    return max(value, _SMALLEST_KL) if score.endswith("_kl") else value


def _colours(runs: list[dict[str, Any]]) -> dict[str, Any]:
    import matplotlib

    names = sorted({_method(run) for run in runs if not _is_ceiling(run)})
    colours = matplotlib.colormaps["tab10" if len(names) <= 10 else "tab20"]
    return {name: colours(i % colours.N) for i, name in enumerate(names)}


def _mean(runs: list[dict[str, Any]], score: str) -> float:
    return float(sum(run["scores"][score] for run in runs) / len(runs))


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One for all panels, each label once."""
    entries: dict[str, Any] = {}
    for ax in axes:
        entries |= {label: mark for mark, label in zip(*ax.get_legend_handles_labels())}
    figure.legend(
        handles=list(entries.values()),
        labels=list(entries),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize="small",
    )


def _whole_decades(values: Sequence[float]) -> tuple[float, float]:
    """Limits of a logarithmic axis, a decade or more apart."""
    low = math.floor(math.log10(min(values)))
    high = max(math.ceil(math.log10(max(values))), low + 1)
    return 10.0**low / 1.2, 10.0**high * 1.2


def _frame(ax: Axes, score: str, values: Sequence[float]) -> None:
    if score.endswith("_kl"):
        ax.set_yscale("log")
        ax.set_ylim(_whole_decades(values))
        ax.minorticks_off()
    ax.grid(color="#eef0f2")
    ax.set_axisbelow(True)


def _unit(score: str) -> str:
    return ", nats" if score.endswith("_kl") else ""


def _curve(folder: Path, run: dict[str, Any], score: str) -> list[tuple[float, float]]:
    """Seconds and score of a training that scored itself (validate_every)."""
    log = folder / "runs" / run["run"] / "log.jsonl"
    if "/" in run["run"] or not log.is_file():
        return []
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line]
    return [
        (line["seconds"], line[score])
        for line in lines
        if all(isinstance(line.get(key), (int, float)) for key in ("seconds", score))
    ]


def _over_time(folder: Path, runs: list[dict[str, Any]], score: str) -> Figure:
    """A panel for each pair: the score of each run against its seconds of training."""
    from matplotlib.figure import Figure

    scored = _scored(runs, score)
    names = list(dict.fromkeys(_column(run) for run in scored if not _is_ceiling(run)))
    columns = min(len(names), _COLUMNS)
    lines = math.ceil(len(names) / columns)
    figure = Figure(figsize=(2.6 * columns + 1.4, 2.3 * lines + 0.9), layout="constrained")
    panels = list(figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).flat)
    colours = _colours(scored)
    seconds: list[float] = []
    values: list[float] = []
    for ax, name in zip(panels, names):
        of_pair = [run for run in scored if _column(run) == name]
        for run in of_pair:
            colour = colours.get(_method(run))
            if colour is None:
                continue
            end = (run["train_seconds"], run["scores"][score])
            points = [
                (max(time, _SHORTEST), _place(value, score))
                for time, value in [*_curve(folder, run, score), end]
            ]
            seconds += [time for time, _ in points]
            values += [value for _, value in points]
            ax.plot(*zip(*points), color=colour, linewidth=1.0, alpha=0.6)
            ax.plot(*points[-1], "o", color=colour, markersize=4.5, label=_method(run))
        _draw_ceiling(ax, [run for run in of_pair if _is_ceiling(run)], score)
        ax.set_title(name, fontsize="small")
    limits = _whole_decades(seconds)
    for number, ax in enumerate(panels):
        ax.set_visible(number < len(names))
        ax.set_xscale("log")
        ax.set_xlim(limits)
        _frame(ax, score, values)
        if number + columns >= len(names):  # the lowest of its column
            ax.tick_params(labelbottom=True)
            ax.set_xlabel("seconds of training")
        if number % columns == 0:
            ax.set_ylabel(score + _unit(score))
    _legend(figure, figure.axes)
    return figure


def _draw_ceiling(ax: Axes, oracles: list[dict[str, Any]], score: str) -> None:
    """The Oracle as a line; its KL of 0 has no place on a logarithmic axis."""
    if oracles and not score.endswith("_kl"):
        ax.axhline(_mean(oracles, score), color="black", linestyle="--", label="Oracle")


def _by_pair(runs: list[dict[str, Any]], score: str) -> Figure:
    """Each method's mean on each pair, with its runs from the lowest to the highest."""
    from matplotlib.figure import Figure

    scored = _scored(runs, score)
    names = list(dict.fromkeys(_column(run) for run in scored if not _is_ceiling(run)))
    figure = Figure(figsize=(max(4.8, 0.8 * len(names) + 2.0), 4.8), layout="constrained")
    ax = figure.subplots()
    colours = _colours(scored)
    for number, (method, colour) in enumerate(colours.items()):
        shift = 0.6 * ((number + 0.5) / len(colours) - 0.5)
        for place, name in enumerate(names):
            own = [run for run in scored if _column(run) == name and _method(run) == method]
            if not own:
                continue
            values = [_place(run["scores"][score], score) for run in own]
            ax.plot([place + shift] * 2, [min(values), max(values)], color=colour, linewidth=1.0)
            mean = _place(_mean(own, score), score)
            ax.plot(place + shift, mean, "o", color=colour, markersize=5, label=method)
    for place, name in enumerate(names):
        oracles = [run for run in scored if _column(run) == name and _is_ceiling(run)]
        if oracles and not score.endswith("_kl"):
            mean = _mean(oracles, score)
            ax.plot([place - 0.4, place + 0.4], [mean] * 2, "k--", linewidth=1.0, label="Oracle")
    ax.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize="small")
    ax.set_ylabel(score + _unit(score))
    _frame(ax, score, [_place(r["scores"][score], score) for r in scored if not _is_ceiling(r)])
    _legend(figure, [ax])
    return figure


def _models(
    folder: Path, pair: _core.Pair, runs: list[dict[str, Any]], starts: Any
) -> dict[str, Any]:
    """The first run of each method whose model is kept and has trajectories."""
    shown: dict[str, Any] = {}
    for run in runs:
        model = folder / "runs" / run["run"]
        name = _method(run)
        if name in shown or _is_ceiling(run) or run["solver"] not in _core.solvers():
            continue
        if "/" in run["run"] or not (model / "result.json").is_file() or run.get("trained_on"):
            continue
        solver = load_solver(model, pair)
        try:
            solver.sample_trajectory(starts[:1], seed=_SEED)
        except ValueError:  # it draws x1 alone
            continue
        shown[name] = solver
        if len(shown) == _MOST_METHODS:
            break
    return shown


def _trajectories(folder: Path, name: str, runs: list[dict[str, Any]]) -> Figure | None:
    """Paths of the truth and of the solvers of a pair; None where no model of it is kept."""
    from matplotlib.figure import Figure

    try:
        pair = _core.load(name)
    except (ValueError, OSError):  # a pair of its makers, which did not come with the results
        return None
    starts = pair.sample_x0(4, seed=_SEED)
    models = _models(folder, pair, runs, starts)
    if not models:
        return None
    panels = {"truth": pair, **models}
    columns = min(len(panels), _COLUMNS)
    lines = math.ceil(len(panels) / columns)
    figure = Figure(figsize=(3.4 * columns, 3.4 * lines + 0.3), layout="constrained")
    axes = list(figure.subplots(lines, columns, squeeze=False).flat)
    for ax, (label, source) in zip(axes, panels.items()):
        plot_trajectories(source, starts, seed=_SEED, ax=ax)
        ax.set_title(label, fontsize="small")
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    figure.suptitle(name)
    return figure


def draw_figures(
    folder: _PathLike,
    output: _PathLike,
    *,
    score: str | None = None,
    only: str | Sequence[str] = (),
    format: Literal["svg", "png", "pdf"] = "svg",
) -> list[Path]:
    """Draw the figures of an experiment's results into a folder and return the files.

    `folder` has results.jsonl: that of `bridgemark run`, or any other. The files of `output` are
      - quality-over-time: the score of each run against its seconds of training, a panel for each
        pair; a line where the training scored itself (validate_every);
      - scores-by-pair: each method's mean over its runs on each pair, and how far these spread;
      - trajectories-PAIR: paths of the truth and of up to seven methods, where folder/runs has
        their models.
    `score` is the one to draw, of the protocol or your own; without it the joint KL, or the
    conditional trend score where no solver has that. `only` keeps the runs with a part of their id,
    or a pattern with * and ? for all of it. `python -m bridgemark.figures` does the same. Needs
    matplotlib: pip install 'bridgemark[plot]'.
    """
    require_path(folder=folder, output=output)
    if score is not None:
        require_text(score=score)
    if format not in FORMATS:
        raise ValueError(f"[figures] format must be one of {', '.join(FORMATS)}, got {format!r}")
    _pyplot("draw_figures")
    from matplotlib import rc_context

    source, target = Path(folder), Path(output)
    runs = _runs_of(source, [only] if isinstance(only, str) else list(only))
    drawn = _score_to_draw(runs, score)
    target.mkdir(parents=True, exist_ok=True)
    files = []

    def save(name: str, figure: Figure) -> None:
        files.append(target / f"{name}.{format}")
        figure.savefig(files[-1], format=format, dpi=150, metadata=_NO_DATE.get(format))

    with rc_context({"svg.hashsalt": "bridgemark", "font.size": 9}):
        save("quality-over-time", _over_time(source, runs, drawn))
        save("scores-by-pair", _by_pair(runs, drawn))
        for pair in dict.fromkeys(run["pair"] for run in runs):
            figure = _trajectories(source, pair, [run for run in runs if run["pair"] == pair])
            if figure is not None:
                save(f"trajectories-{re.sub('[^A-Za-z0-9._-]+', '-', pair)}", figure)
    return files
