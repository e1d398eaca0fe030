"""A picture of rows of own data, by matplotlib, which is optional."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _arrays
from ._plots import _pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST_SIDE = 3  # of an image


def _states(name: str, rows: Any) -> npt.NDArray[np.float64]:
    states = _arrays.to_numpy(rows, f"rows[{name!r}]")
    if states.ndim != 2 or states.dtype.kind not in "iu" or 0 in states.shape:
        raise ValueError(
            f"[plot] rows of {name!r} must be integers [n,D], one at least, got shape "
            f"{states.shape} of {states.dtype}"
        )
    return states.astype(np.float64)


def _strip(states: npt.NDArray[np.float64], side: int) -> npt.NDArray[np.float64]:
    """The rows as one picture: images side by side, or lines of a heat map."""
    if side == 0:
        return states
    gap = np.full((side, 1), np.nan)
    images = [part for row in states for part in (row.reshape(side, side), gap)]
    return np.concatenate(images[:-1], axis=1)


def plot_rows(
    rows: Mapping[str, Any],
    *,
    count: int = 10,
    num_categories: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Show rows of own data, each set of them below the other. Returns the axes.

    `rows` names the sets, states [n,D] of one D: {"x0": x0, "x1": solver.sample(x0)}. The first
    `count` rows of each are shown, as images side by side where D is a square of 3 or more, else as
    lines of a heat map. Dark is a high category; `num_categories` is S, else what the rows show.
    Needs matplotlib.
    """
    pyplot = _pyplot("plot_rows")
    if not isinstance(rows, Mapping) or not rows:
        raise TypeError(
            "[plot] rows must be a dict of the names of sets and their states, "
            f"got {type(rows).__name__}"
        )
    if count < 1:
        raise ValueError(f"[plot] count must be at least 1, got {count}")
    sets = {name: _states(name, states)[:count] for name, states in rows.items()}
    dims = {states.shape[1] for states in sets.values()}
    if len(dims) > 1:
        raise ValueError(f"[plot] sets must have as many columns, got {sorted(dims)}")
    dim = dims.pop()
    side = math.isqrt(dim) if math.isqrt(dim) ** 2 == dim and dim >= _LEAST_SIDE**2 else 0
    strips = {name: _strip(states, side) for name, states in sets.items()}
    width = max(strip.shape[1] for strip in strips.values())
    parts, centres, height = [], [], 0
    for strip in strips.values():
        parts += [np.pad(strip, ((0, 1), (0, width - strip.shape[1])), constant_values=np.nan)]
        centres.append(height + (len(strip) - 1) / 2)
        height += len(strip) + 1
    if ax is None:
        cell = (0.09, 0.09) if side else (0.3, 0.15)
        size = (0.8 + cell[0] * width, 0.2 + cell[1] * height)
        ax = pyplot.subplots(figsize=size, layout="constrained")[1]
    assert ax is not None
    highest = max(float(states.max()) for states in sets.values())
    vmax = highest if num_categories is None else num_categories - 1
    ax.imshow(
        np.concatenate(parts)[:-1], cmap="gray_r", vmin=0, vmax=max(vmax, 1),
        aspect="equal" if side else "auto", interpolation="nearest",
    )  # fmt: skip
    ax.set_yticks(centres, list(strips))
    ax.set_xticks([] if side else range(dim))
    ax.tick_params(length=0)
    ax.set_frame_on(False)
    return ax
