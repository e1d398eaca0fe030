"""Pictures of pairs, solvers and other couplings, by matplotlib, which is optional.

States are shown by two of their coordinates, or by the two principal components of what is shown.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from . import _arrays, _core
from ._outside import OutsideCoupling
from ._results import _label
from ._solvers import Solver

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_PairLike = _core.Pair | str | os.PathLike[str]
_CouplingLike = Solver | _core.Coupling | OutsideCoupling | Callable[[Any], Any]
_Seed = int | np.random.Generator | None
_Coordinates = Sequence[int] | Literal["pca"] | None
_States = npt.NDArray[np.int32]
_Points = npt.NDArray[np.float64]

_X0, _X1 = "#8c8c8c", "#c44e52"  # the two ends
_STARTS = ("#4c72b0", "#dd8452", "#55a868", "#8172b3", "#937860", "#da8bc3", "#64b5cd", "#ccb974")
_FEW_CATEGORIES = 20  # of which points would cover each other: a histogram instead


def _pyplot(name: str) -> Any:
    """matplotlib.pyplot. Raises ImportError in one line where matplotlib is not installed."""
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise ImportError(f"[python] {name} needs matplotlib: pip install matplotlib") from error
    return matplotlib.pyplot


def _generator(seed: _Seed) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    try:
        return np.random.default_rng(None if seed is None else operator.index(seed))
    except TypeError:
        raise TypeError(
            "[python] seed must be an int, a numpy.random.Generator or None, "
            f"got {type(seed).__name__}"
        ) from None


class _Source:
    """What is shown, whatever it is: a pair's truth, a fit, or a solver of another maker."""

    def __init__(self, given: Any, like: Any):
        if isinstance(given, (str, os.PathLike)):
            given = _core.load(given)
        self.pair: _core.Pair | None = given if isinstance(given, _core.Pair) else None
        self.label = "truth" if self.pair is not None else _label(given)
        self.rows: _States | None = None  # x0 that it was fitted to, where that was data
        if isinstance(given, Solver):
            self.rows, given = given._rows, given.coupling
        if isinstance(given, _core.Coupling):
            self.pair = given.pair
        own = isinstance(given, (_core.Pair, _core.Coupling))
        if isinstance(given, type) or not (own or hasattr(given, "sample") or callable(given)):
            raise TypeError(
                "[plot] source must be a pair, a fitted solver or coupling, an object with "
                f"sample(x0, seed) or a callable x0 -> x1, got {type(given).__name__}"
            )
        self.start_pair = self.pair  # whose x0 are shown
        self.given = given
        self.own = own
        self.like = like

    def starts(self, x0: Any, rows: int, random: np.random.Generator) -> _States:
        """The x0 to show: those given, or drawn from a pair, that of the source without one, or
        from the rows that it was fitted to."""
        if isinstance(x0, (str, os.PathLike)):
            x0 = _core.load(x0)
        if isinstance(x0, _core.Pair):
            self.start_pair, x0 = x0, None
        if x0 is None and self.start_pair is not None:
            return self.start_pair.sample_x0(rows, random)
        if x0 is None and self.rows is not None:
            chosen = random.choice(len(self.rows), min(rows, len(self.rows)), replace=False)
            return self.rows[chosen]
        if x0 is None:
            raise ValueError(
                f"[plot] x0 must be given, states or a pair to draw them from: {self.label} was "
                "not fitted to a pair"
            )
        states = np.atleast_2d(_arrays.to_numpy(x0, "x0"))
        if states.ndim != 2 or states.dtype.kind not in "iu" or not states.size:
            raise ValueError(
                f"[plot] x0 must be integers [B,D], got shape {states.shape} of {states.dtype}"
            )
        return states.astype(np.int32)

    def draw(self, x0: _States, random: np.random.Generator) -> _States:
        """x1 ~ q(.|x0)."""
        if isinstance(self.given, _core.Pair):
            return self.given.sample_conditional(x0, random)
        if self.own:
            drawn: _States = self.given.sample(x0, random)
            return drawn
        return self._ask("sample" if hasattr(self.given, "sample") else None, x0, (), random)

    def paths(self, x0: _States, num_steps: int | None, random: np.random.Generator) -> _States:
        """Trajectories [B,num_steps+1,D]."""
        if self.own:
            steps = {} if num_steps is None else {"num_steps": num_steps}
            drawn: _States = self.given.sample_trajectory(x0, seed=random, **steps)
            return drawn
        steps_of_it = getattr(self.given, "num_steps", None) if num_steps is None else num_steps
        known = [
            m for m in ("sample_transition", "log_transition_marginals") if hasattr(self.given, m)
        ]
        if steps_of_it is None or not known:
            raise ValueError(
                f"[plot] {self.label} has no trajectories: an object needs num_steps and "
                "sample_transition or log_transition_marginals"
            )
        path = [x0]
        for n in range(steps_of_it):
            path.append(self._ask(known[0], path[-1], (steps_of_it, n), random))
        return np.stack(path, axis=1)

    def _ask(
        self,
        method: str | None,
        x: _States,
        arguments: tuple[int, ...],
        random: np.random.Generator,
    ) -> _States:
        """What an outside object answers; states are drawn where it gives log-probabilities."""
        call = self.given if method is None else getattr(self.given, method)
        x_like = _arrays.like(self.like, x)
        if method is None or method == "log_transition_marginals":
            answer = _arrays.to_numpy(call(x_like, *arguments), "the answer")
        else:
            seed = int(random.integers(2**31))
            answer = _arrays.to_numpy(call(x_like, *arguments, seed), "the answer")
        if method == "log_transition_marginals":
            cumulative = np.exp(answer.astype(np.float64)).cumsum(axis=-1)
            levels = random.random(x.shape)[..., None] * cumulative[..., -1:]
            answer = (cumulative < levels).sum(axis=-1)
        if answer.shape != x.shape:
            raise ValueError(f"[plot] {self.label} must answer {x.shape}, got {answer.shape}")
        return answer.astype(np.int32)

    def num_categories(self, *states: _States) -> int:
        """S where it is known, else what the states show."""
        known = self.given if self.own else self.start_pair
        return known.num_categories if known else int(max(x.max() for x in states)) + 1


class _Plane:
    """Two numbers for each state: two of its coordinates, or two principal components."""

    def __init__(self, coordinates: _Coordinates, num_categories: int, *states: _States):
        dim = states[0].shape[-1]
        rows = np.concatenate([x.reshape(-1, dim) for x in states]).astype(np.float64)
        if dim < 2:
            raise ValueError(
                f"[plot] states must have at least 2 coordinates to be shown, got {dim}"
            )
        self.projected = isinstance(coordinates, str)
        if isinstance(coordinates, str):
            if coordinates != "pca":
                raise ValueError(
                    f"[plot] coordinates must be two ints or 'pca', got '{coordinates}'"
                )
            self._centre = rows.mean(0)
            self._axes = np.linalg.svd(np.cov((rows - self._centre).T))[0][:, :2]
            self.names = ("first principal component", "second principal component")
            self.limits = [self._range(values) for values in self(rows).T]
        else:
            chosen = [operator.index(d) for d in ((0, 1) if coordinates is None else coordinates)]
            if len(chosen) != 2 or not all(0 <= d < dim for d in chosen):
                raise ValueError(
                    f"[plot] coordinates must be two of 0..{dim - 1} or 'pca', got {coordinates}"
                )
            self._chosen = chosen
            self.names = (f"coordinate {chosen[0]}", f"coordinate {chosen[1]}")
            self.limits = [(-0.5, num_categories - 0.5)] * 2

    @staticmethod
    def _range(values: _Points) -> tuple[float, float]:
        low, high = float(values.min()), float(values.max())
        margin = 0.05 * (high - low) or 1.0
        return low - margin, high + margin

    def __call__(self, x: Any) -> _Points:
        if self.projected:
            return np.asarray((np.asarray(x, np.float64) - self._centre) @ self._axes)
        return np.asarray(x)[..., self._chosen].astype(np.float64)

    def around(self, *states: _States) -> list[tuple[float, float]]:
        """Limits that these states fill, with room, inside of all of them; as wide as high."""
        points = np.concatenate([self(x).reshape(-1, 2) for x in states])
        low, high = points.min(0), points.max(0)
        half = max(float((high - low).max()) / 2 + 1.5, 3.5)
        whole = [end - start for start, end in self.limits]
        if 2 * half >= 0.8 * max(whole):
            return self.limits
        limits = []
        for (start, end), centre in zip(self.limits, (low + high) / 2):
            first = min(
                max(float(np.floor(centre - half)) + 0.5, start), max(end - 2 * half, start)
            )
            limits.append((first, first + 2 * half))
        return limits

    def bins(self) -> list[_Points]:
        """Edges of a histogram: a cell for each category."""
        if self.projected:
            return [np.linspace(low, high, 51) for low, high in self.limits]
        return [np.arange(low, high + 1.0) for low, high in self.limits]

    def density(self, x: _States) -> _Points:
        """The share of the states in each cell, [columns, rows]."""
        points = self(x)
        counts = np.histogram2d(points[:, 0], points[:, 1], bins=self.bins())[0]
        return np.asarray(counts / max(len(x), 1))

    def frame(self, ax: Axes) -> None:
        ax.set_xlim(*self.limits[0])
        ax.set_ylim(*self.limits[1])
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])
        ax.set_aspect("equal")


def _legend(ax: Axes) -> None:
    ax.legend(loc="upper right", fontsize="small", framealpha=0.9, handletextpad=0.3)


def _scatter(
    ax: Axes, plane: _Plane, x: _States, colour: str, label: str, alpha: float = 0.6
) -> None:
    points = plane(x)
    if not plane.projected:  # equal states lie beside each other, inside of their cell
        points = points + np.random.default_rng(0).uniform(-0.35, 0.35, points.shape)
    ax.scatter(
        points[:, 0], points[:, 1], s=10, color=colour, alpha=alpha, linewidths=0, label=label
    )


def plot_samples(
    source: _PairLike | _CouplingLike,
    x0: Any = None,
    *,
    num_samples: int = 1000,
    coordinates: _Coordinates = None,
    kind: Literal["scatter", "histogram"] | None = None,
    seed: _Seed = None,
    like: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Show x0 and the x1 that `source` draws for them: its two ends. Returns the axes.

    `source` is a pair (or its name or folder), a fitted solver or coupling, an object with
    sample(x0, seed) or a callable x0 -> x1. `x0` are states [B,D], or a pair that `num_samples` of
    them are drawn from; it may be left out for a pair, for what was fitted to one, and for a
    solver that was fitted to data, which shows rows of its own x0.
    `coordinates` are the two that are shown, without them 0 and 1; 'pca' shows the principal
    components of the picture's states. A 'scatter' shows both ends, points moved a little inside of
    their cell so that none hides another; a 'histogram' shows how many x1 fall on each cell;
    without `kind` it is a scatter from 20 categories on. `like` is an array of the library that a
    solver of your own takes, as for `evaluate`. Needs matplotlib.
    """
    pyplot = _pyplot("plot_samples")
    if kind not in (None, "scatter", "histogram"):
        raise ValueError(f"[plot] kind must be 'scatter' or 'histogram', got {kind!r}")
    random = _generator(seed)
    shown = _Source(source, like)
    starts = shown.starts(x0, num_samples, random)
    ends = shown.draw(starts, random)
    num_categories = shown.num_categories(starts, ends)
    plane = _Plane(coordinates, num_categories, starts, ends)
    if ax is None:
        ax = pyplot.subplots(figsize=(4.8, 4.5), layout="constrained")[1]
    assert ax is not None
    plane.frame(ax)
    if kind == "histogram" or (kind is None and num_categories < _FEW_CATEGORIES):
        image = ax.pcolormesh(*plane.bins(), plane.density(ends).T, cmap="Reds", vmin=0.0)
        ax.figure.colorbar(image, ax=ax, label="share of $x_1$", fraction=0.046)
    else:
        _scatter(ax, plane, starts, _X0, "$x_0$")
        _scatter(ax, plane, ends, _X1, "$x_1$")
        _legend(ax)
    ax.set_title(_title(shown))
    return ax


def _title(shown: _Source) -> str:
    if shown.pair is None:
        return shown.label
    return shown.pair.name if shown.label == "truth" else f"{shown.label} on {shown.pair.name}"


def plot_trajectories(
    source: _PairLike | _CouplingLike,
    x0: Any = None,
    *,
    num_starts: int = 4,
    paths: int = 4,
    num_steps: int | None = None,
    coordinates: _Coordinates = None,
    seed: _Seed = None,
    like: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Show trajectories of `source` from a few x0, `paths` from each. Returns the axes.

    Arguments are those of `plot_samples`; `num_starts` is how many x0 are drawn from a pair. Paths
    from the same x0 have the same colour; behind them lie samples of the pair's ends, where there
    is a pair. `num_steps` is the grid, without it the one that the solver was trained with, else
    16. An object of your own needs num_steps and sample_transition or log_transition_marginals
    (see OutsideCoupling). Needs matplotlib.
    """
    pyplot = _pyplot("plot_trajectories")
    random = _generator(seed)
    shown = _Source(source, like)
    starts = shown.starts(x0, num_starts, random)
    drawn = shown.paths(np.repeat(starts, paths, axis=0), num_steps, random)
    pair = shown.start_pair
    behind = [] if pair is None else [pair.sample_x0(500, random), pair.sample_x1(500, random)]
    plane = _Plane(coordinates, shown.num_categories(drawn), *(behind or [drawn]))
    if ax is None:
        ax = pyplot.subplots(figsize=(4.8, 4.5), layout="constrained")[1]
    assert ax is not None
    plane.frame(ax)
    for states, colour, name in zip(behind, (_X0, _X1), ("$p_0$", "$p_1$")):
        _scatter(ax, plane, states, colour, name, 0.25)
    points = plane(drawn)
    colours = [_STARTS[i // paths % len(_STARTS)] for i in range(len(points))]
    for path, colour in zip(points, colours):
        ax.plot(*path.T, color=colour, linewidth=1.0, alpha=0.8, marker=".", markersize=3)
    edge: dict[str, Any] = {"linewidths": 0.6, "edgecolors": "black", "zorder": 3}
    for n, name, marker, size in ((0, "$x_0$", "o", 45), (-1, "$x_1$", "s", 35)):
        ax.scatter(points[:, n, 0], points[:, n, 1], s=size, c=colours, marker=marker, **edge)
        ax.scatter([], [], s=size, c="white", marker=marker, label=name, **edge)  # the legend's
    _legend(ax)
    ax.set_title(f"{_title(shown)}, {drawn.shape[1] - 1} steps")
    return ax


def _named(couplings: Any) -> dict[str, Any]:
    if isinstance(couplings, Mapping):
        return dict(couplings)
    several = couplings if isinstance(couplings, (list, tuple)) else [couplings]
    named = {_label(coupling): coupling for coupling in several}
    if len(named) != len(several):
        raise ValueError("[plot] couplings must have names of their own: pass a dict of couplings")
    return named


def plot_conditional(
    pair: _PairLike,
    couplings: _CouplingLike | Sequence[_CouplingLike] | Mapping[str, _CouplingLike],
    x0: Any = None,
    *,
    num_x0: int = 3,
    num_samples: int = 5000,
    coordinates: _Coordinates = None,
    seed: _Seed = None,
    like: Any = None,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Show q(.|x0) of the truth and of solvers side by side, one row for each x0.

    `couplings` is a fitted solver or coupling, an object of your own or a callable, or several of
    them in a list, or in a dict that names them. `x0` are the states [B,D] to start from, without
    them `num_x0` of the pair's conditional inputs. Each panel is the histogram of `num_samples`
    draws in two `coordinates`, x0 a cross; a row has one scale of place and colour. Draws into
    `figure` where one is given, and returns it. Needs matplotlib.
    """
    pyplot = _pyplot("plot_conditional")
    random = _generator(seed)
    truth = _Source(pair, None)
    if not isinstance(truth.given, _core.Pair):
        raise TypeError(
            "[plot] pair must be a Pair, the name of a preset or a pair folder, "
            f"got {type(pair).__name__}"
        )
    named = {"truth": truth, **{n: _Source(c, like) for n, c in _named(couplings).items()}}
    if x0 is None:
        inputs = truth.given.conditional_inputs()
        x0 = inputs[:: max(len(inputs) // num_x0, 1)][:num_x0]
    starts = truth.starts(x0, num_x0, random)
    if figure is None:
        size = (2.6 * len(named) + 0.6, 2.4 * len(starts) + 0.5)
        figure = pyplot.figure(figsize=size, layout="constrained")
    grid = np.atleast_2d(figure.subplots(len(starts), len(named), squeeze=False))
    for number, (row, start) in enumerate(zip(grid, starts)):
        repeated = np.repeat(start[None], num_samples, axis=0)
        drawn = {name: source.draw(repeated, random) for name, source in named.items()}
        plane = _Plane(coordinates, truth.given.num_categories, start[None], *drawn.values())
        densities = [plane.density(states) for states in drawn.values()]
        highest = max(float(density.max()) for density in densities)
        limits = plane.around(start[None], *drawn.values())
        for column, (ax, density) in enumerate(zip(row, densities)):
            image = ax.pcolormesh(*plane.bins(), density.T, cmap="Reds", vmin=0.0, vmax=highest)
            ax.plot(*plane(start[None]).T, "x", color="black", markersize=7, label="$x_0$")
            plane.frame(ax)
            ax.set_xlim(*limits[0])
            ax.set_ylim(*limits[1])
            ax.label_outer()
            if number == 0:
                ax.set_title(list(named)[column])
        figure.colorbar(image, ax=list(row), label="$q(x_1 | x_0)$", fraction=0.046)
        if start.size == 2:
            row[0].set_ylabel(f"$x_0$ = ({start[0]}, {start[1]})\n{plane.names[1]}")
        else:
            row[0].set_ylabel(f"$x_0$ number {number}\n{plane.names[1]}")
    _legend(grid[0][0])
    return figure
