"""Seconds to a quality: which solver is there first, and on how many pairs."""

from __future__ import annotations

import json
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from ._arguments import require_number
from ._tables import Table

_PathLike = str | os.PathLike[str]
NATS_A_COORDINATE = 0.001
_COLUMNS = ("method", "pair", "target", "seconds", "joint_kl")


def _runs(folders: Iterable[_PathLike]) -> list[dict[str, Any]]:
    runs = []
    for folder in folders:
        with (Path(folder) / "results.jsonl").open(encoding="utf-8") as lines:
            runs += [json.loads(line) for line in lines if line.strip()]
    return runs


def _one_machine(runs: list[dict[str, Any]]) -> None:
    """Seconds of two machines, or of other threads, say nothing of the solvers."""
    found = sorted({f"{r['machine']}, {r['device']}, {r['threads']} threads" for r in runs})
    if len(found) > 1:
        raise ValueError(
            f"[time_to_quality] runs must be of one machine, device and number of threads, got "
            f"{len(found)}: {'; '.join(found)}"
        )


def _reached(runs: list[dict[str, Any]], nats: float) -> tuple[float, float] | None:
    """Seconds and joint KL of the slowest and of the farthest training; None where one fails."""
    scores = [r["scores"]["joint_kl"] for r in runs]
    if any(s is None or s > nats * r["dim"] for s, r in zip(scores, runs)):
        return None
    return max(r["train_seconds"] for r in runs), max(scores)


def _order(found: dict[str, tuple[float, float] | None]) -> tuple[int, float]:
    """Of recipes: first who reaches more pairs, then who is faster by the geometric mean."""
    seconds = [reached[0] for reached in found.values() if reached is not None]
    mean = sum(math.log(max(s, 1e-9)) for s in seconds) / max(len(seconds), 1)
    return -len(seconds), mean


def time_to_quality(
    folders: _PathLike | Sequence[_PathLike],
    *,
    nats: float = NATS_A_COORDINATE,
    recipe: Literal["one", "tuned"] = "one",
) -> Table:
    """How many seconds of training each method needs to a joint KL, on each pair.

    `folders` are those of experiments, whose runs must be of one machine, device and number of
    threads. The target of a pair is `nats` for each of its coordinates. A recipe, all options of a
    run, reaches it where each of its trainings, whatever its seed, does; its time is that of the
    slowest one. With recipe 'one' a method has one recipe for all pairs: the one that reaches the
    most, then the fastest by the geometric mean of its seconds. With 'tuned' it has the fastest for
    each pair. Runs without a joint KL reach nothing; baselines that train nothing count as well.
    Runs on training sets do not: their rows and not their seconds decide.

    Columns are method, pair, target, seconds (None where it is not reached) and joint_kl.
    """
    require_number(nats=nats)
    if not nats > 0:
        raise ValueError(f"[time_to_quality] nats must be above 0, got {nats}")
    if recipe not in ("one", "tuned"):
        raise ValueError(f"[time_to_quality] recipe must be 'one' or 'tuned', got {recipe!r:.80}")
    given = [folders] if isinstance(folders, (str, os.PathLike)) else list(folders)
    runs = [r for r in _runs(given) if not r["data"]]
    _one_machine(runs)
    pairs = {r["pair"]: nats * r["dim"] for r in runs}
    groups: dict[str, dict[str, dict[str, list[dict[str, Any]]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for r in runs:
        options = json.dumps([r["loss"], r["num_steps"], r["options"]], sort_keys=True)
        groups[r["method"]][options][r["pair"]].append(r)
    rows = []
    for method, recipes in groups.items():
        found = [
            {pair: _reached(of_pair, nats) for pair, of_pair in by_pair.items()}
            for by_pair in recipes.values()
        ]
        if recipe == "one":
            found = [min(found, key=_order)]
        for pair, target in pairs.items():
            reached = [r for r in (f.get(pair) for f in found) if r is not None]
            seconds, joint_kl = min(reached) if reached else (None, None)
            rows.append(dict(zip(_COLUMNS, (method, pair, target, seconds, joint_kl))))
    return Table(rows, _COLUMNS)


def performance_profile(
    times: Table, within: Sequence[float] = (1.0, 2.0, 4.0, 8.0, 16.0)
) -> Table:
    """On which share of the pairs a method is within a factor of the fastest one.

    `times` is what time_to_quality returned; a pair that no method reaches counts as reached by
    none. One row a method, best first, and a column 'within F' for each factor; 'reached' is the
    share of pairs that it reaches at all.
    """
    factors = [float(factor) for factor in within]
    if not factors or not all(factor >= 1.0 for factor in factors):
        raise ValueError(f"[performance_profile] within must be factors from 1 on, got {within}")
    fastest: dict[str, float] = {}
    for row in times:
        if row["seconds"] is not None:
            fastest[row["pair"]] = min(row["seconds"], fastest.get(row["pair"], math.inf))
    num_pairs = len({row["pair"] for row in times})
    rows = []
    for method in dict.fromkeys(row["method"] for row in times):
        ratios = [
            row["seconds"] / fastest[row["pair"]] if fastest[row["pair"]] > 0 else 1.0
            for row in times
            if row["method"] == method and row["seconds"] is not None
        ]
        shares = {f"within {f:g}": sum(r <= f for r in ratios) / num_pairs for f in factors}
        rows.append({"method": method} | shares | {"reached": len(ratios) / num_pairs})
    rows.sort(key=lambda row: tuple(list(row.values())[1:]), reverse=True)
    return Table(rows, ["method", *(f"within {f:g}" for f in factors), "reached"])
