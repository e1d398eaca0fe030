"""Scores of a user's own beside those of the protocol."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import _arrays, _core

Metric = Callable[[Any, Any, Any], float]


def require_metrics(metrics: Mapping[str, Metric]) -> None:
    """Raises TypeError or ValueError for what evaluate cannot take."""
    if not isinstance(metrics, Mapping):
        raise TypeError(
            f"[evaluate] metrics must be a dict of functions, got {type(metrics).__name__}"
        )
    for name, metric in metrics.items():
        if not isinstance(name, str) or not (name.isidentifier() and name.isascii()):
            raise ValueError(
                "[evaluate] the name of a metric must be a word of letters of ASCII, digits and "
                f"underscores, got {name!r:.80}"
            )
        if not callable(metric):
            raise TypeError(f"[evaluate] metric '{name}' must be a function, got {metric!r:.80}")


def _numpy(states: Any) -> Any:
    """Answers of any library, on the host."""
    if isinstance(states, np.ndarray):
        return states
    return np.asarray(states.detach().cpu() if hasattr(states, "detach") else states)


def _draws(coupling: Any, x0: Any, seed: int, like: Any) -> Any:
    """x1 of the solver for each row of x0, in NumPy."""
    if isinstance(coupling, tuple):
        return _numpy(coupling[0])
    given = x0 if like is None else _arrays.like(like, x0)
    if hasattr(coupling, "sample"):
        return _numpy(coupling.sample(given, seed))
    return _numpy(coupling(given))


def own_scores(
    metrics: Mapping[str, Metric],
    pair: _core.Pair,
    coupling: Any,
    like: Any,
    seed: int,
    num_seeds: int,
) -> list[tuple[str, list[float], float, float | None]]:
    """Name, value of each repetition, mean and standard error, None where nothing is drawn anew."""
    found: dict[str, list[float]] = {name: [] for name in metrics}
    x0, x1 = pair.test_set()
    for repetition in range(num_seeds):
        drawn = _draws(coupling, x0, seed + repetition, like)
        if drawn.shape != x0.shape:
            raise ValueError(
                f"[evaluate] x1 must have the shape of x0, {x0.shape}, got {drawn.shape}"
            )
        for name, metric in metrics.items():
            value = float(metric(x0, x1, drawn))
            if not math.isfinite(value):
                raise ValueError(f"[evaluate] metric '{name}' must be a finite number, got {value}")
            found[name].append(value)
    several = num_seeds > 1 and not isinstance(coupling, tuple)
    return [
        (
            name,
            values,
            float(np.mean(values)),
            float(np.std(values, ddof=1) / math.sqrt(num_seeds)) if several else None,
        )
        for name, values in found.items()
    ]
