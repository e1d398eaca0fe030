"""The solvers as classes: options in, a fitted coupling inside.

Names, options and their help come from the native registry; a class here only gives a solver its
Python name. _solvers.pyi has the types.
"""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from . import _core
from ._arguments import require_callable, require_flag, require_number, require_path, require_text
from ._arrays import to_numpy
from ._labels import LabelledCoupling, condition_of, load_labelled
from ._progress import reporter
from ._reference import PairReference

# The classes of solvers, which the package offers under the same names.
__all__ = [
    "AlphaCSBM",
    "CSBM",
    "DLightSB",
    "DLightSBChain",
    "DLightSBM",
    "DLightSBTree",
    "FeatureWise",
    "Independent",
    "Oracle",
    "Reference",
    "Sinkhorn",
]

_SPECS = {name: (description, options) for name, description, options in _core.solver_specs()}
_OF_PYTHON: tuple[str, list[Any]] = ("a solver of Python, which bridgemark.run trains", [])
_CLASSES: dict[str, type[Solver]] = {}
_KEPT_ROWS = 10_000

ArrayT = TypeVar("ArrayT")
SolverT = TypeVar("SolverT", bound="Solver")


def _signature(name: str) -> inspect.Signature:
    """The keywords of a solver as help and completion show them; its defaults are texts."""
    kind = inspect.Parameter.KEYWORD_ONLY
    _, options = _SPECS.get(name, _OF_PYTHON)
    return inspect.Signature(
        [inspect.Parameter(o["key"], kind, default=o["default"] or None) for o in options]
    )


def _document(name: str) -> str:
    description, options = _SPECS.get(name, _OF_PYTHON)
    lines = [f"{description[0].upper()}{description[1:]}."]
    if options:
        lines += ["", "Options, which go to the constructor or to fit:"]
        lines += [f"  {o['key']}={o['default'] or '...'}  {o['help']}" for o in options]
    return "\n".join(lines)


def _reference_parts(
    reference: Any, gamma: float | None, num_categories: int | None, total_steps: int | None
) -> dict[str, Any]:
    """What fit_data takes of a reference: named, a matrix, or that of a pair, which is whole."""
    if gamma is not None:
        require_number(gamma=gamma)
    if isinstance(reference, PairReference):
        given = {"gamma": gamma, "num_categories": num_categories, "total_steps": total_steps}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"[fit] {name} is that of pair.reference, got {value} beside it")
        return reference.parts()
    return {
        "reference": "gaussian" if reference is None else reference,
        "gamma": gamma,
        "num_categories": num_categories,
        "total_steps": _core.DEFAULT_TOTAL_STEPS if total_steps is None else total_steps,
    }


class Solver:
    """A solver of the library with its options: fit it, then draw, score or keep it.

    The constructor and `fit` take its options as keywords, `help(DLightSB)` lists them; an unknown
    one raises ValueError with the nearest known. A Solver may be fitted again: `coupling` is what
    the last fit made, a value that does not change, and `sample` and the others answer by it.
    Arrays are answered in their library and on their device. `name` is the one of `solvers()`,
    `options` what the constructor was given.
    """

    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.__doc__ = _document(cls.name)
        cls.__signature__ = _signature(cls.name)
        _CLASSES[cls.name] = cls

    def __init__(self, *others: Any, **options: Any):
        if others:
            raise TypeError(
                f"[solver] {type(self).__name__} takes its options by name: "
                f"{type(self).__name__}(option=...), got {others[0]!r}; fit takes the pair or data"
            )
        if type(self) is Solver:
            raise TypeError("[solver] make a Solver by its class or by make_solver(name)")
        if "samples" in options:
            raise ValueError(
                "[solver] samples is of fit, rows of a training set: fit(pair, samples=1000), "
                f"got it in {type(self).__name__}(...)"
            )
        _core.resolve_options(self.name, **options)
        self.options = options
        self._coupling: _core.Coupling | None = None
        self._by_label: LabelledCoupling | None = None
        self._rows: npt.NDArray[np.int32] | None = None  # x0 of data, for pictures

    def fit(
        self: SolverT,
        pair: Any,
        x1: Any = None,
        *,
        condition: Any = None,
        reference: Any = None,
        gamma: float | None = None,
        num_categories: int | None = None,
        total_steps: int | None = None,
        samples: int = 0,
        training_set: int = 0,
        seed: int | np.random.Generator | None = 0,
        folder: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: bool | Callable[[str, int, int, str], object] = False,
        device: str = "cpu",
        on_log: Callable[[dict[str, Any]], object] | None = None,
        tensorboard: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> SolverT:
        """Fit to unpaired samples of a pair, or to data; return the solver itself.

        fit(pair) draws from a benchmark pair, given as it is or by its name or folder; with
        `samples` it sees that many rows of either end and nothing else of the pair but its
        reference: those of pair.training_set(samples, training_set). fit(x0, x1) takes two sets of
        states of your own, integers [n,D] and [m,D]: `reference` is 'gaussian' (without it),
        'uniform', 'birth-death', 'absorbing', a matrix [S,S] of the probabilities of one of
        `total_steps` (128) elementary steps, factors (U, V) of low rank, a graph as a sparse matrix
        of scipy or its (data, indices, indptr), or pair.reference, which is that of a pair with its
        gamma, steps and S; `gamma` is its stochasticity, without it, of the first two, one that
        fits the categories (`coupling.gamma`, told to the logger 'bridgemark'); `num_categories` is
        S, without it what the matrix or the largest category says. Data has no truth: `sample`,
        `sample_trajectory` and `reversed` answer; `evaluate` scores it on a pair of the same
        reference, S and D. `condition` is (labels0,
        labels1), integers [n] and [m], a label for each row: a model for each label, `by_label`,
        whose x1 keeps the label of its x0; `sample` and the others then take `condition` too.

        `seed` is an int, a numpy.random.Generator that one is drawn from, or None for a fresh one;
        `coupling.seed` says which. `options` go over those of the constructor, for this fit.
        `folder` keeps the run there, with checkpoints: Ctrl-C raises KeyboardInterrupt, and the
        same call with resume=True goes on and ends in the parameters that an undisturbed fit has.
        `progress` is True for a line on standard error, or a callable (what, done, total, detail).
        `on_log` is called with each line that the training adds to its log, a dict; what it returns
        is ignored, and what it raises ends the training as Ctrl-C does and is raised here.
        `tensorboard` is a folder that gets an event file of TensorBoard.
        `device` is 'cpu', or 'cuda' in a build that has it. On rows that end, bridges choose by
        rows kept apart (`holdout`) how many components they have and when to stop, and networks
        when to stop:
        `coupling.diagnostics` says what they chose, and a warning goes to the logger 'bridgemark'
        where the rows trained on fit far better than those.
        """
        require_text(device=device)
        require_flag(resume=resume)
        if folder is not None:
            require_path(folder=folder)
        elif resume:
            raise ValueError("[fit] resume needs folder, where the run to go on with is, got None")
        if on_log is not None:
            require_callable(on_log=on_log)
        if tensorboard is not None:
            require_path(tensorboard=tensorboard)
        common: dict[str, Any] = {
            "seed": seed,
            "folder": folder,
            "resume": resume,
            "progress": reporter(progress),
            "device": device,
            "on_log": on_log,
            "tensorboard": tensorboard,
            **self.options,
            **options,
        }
        if isinstance(pair, (_core.Pair, str, os.PathLike)):
            of_data = {
                "x1": x1,
                "condition": condition,
                "reference": reference,
                "gamma": gamma,
                "num_categories": num_categories,
                "total_steps": total_steps,
            }
            for name, value in of_data.items():
                if value is not None:
                    raise ValueError(
                        f"[fit] {name} belongs to data, fit(x0, x1), got it with a pair"
                    )
            fitted: Any = _core.fit(
                self.name, pair, samples=samples, training_set=training_set, **common
            )
        elif x1 is None:
            raise TypeError(
                "[fit] fit takes a pair, or two sets of states: fit(x0, x1), "
                f"got {type(pair).__name__} alone"
            )
        else:
            for name, value in (("samples", samples), ("training_set", training_set)):
                if value != 0:
                    raise ValueError(
                        f"[fit] {name} belongs to a pair, fit(pair), got {value} with data"
                    )
            parts = _reference_parts(reference, gamma, num_categories, total_steps)
            if condition is None:
                fitted = _core.fit_data(self.name, pair, x1, **parts, **common)
            else:
                labels = condition_of(condition)
                fitted = _core.fit_labels(self.name, pair, x1, *labels, **parts, **common)
        self._rows = None
        if x1 is not None:
            self._rows = np.array(to_numpy(pair, "x0")[:_KEPT_ROWS], np.int32)
        by_label = isinstance(fitted, dict)
        self._coupling = None if by_label else fitted
        self._by_label = LabelledCoupling(fitted) if by_label else None
        for label, own in fitted.items() if by_label else [(None, fitted)]:
            warning = own.diagnostics.get("warning")
            if warning is not None:
                named = warning if label is None else f"label {label}: {warning}"
                logging.getLogger("bridgemark").warning("%s", named)
        return self

    @property
    def coupling(self) -> _core.Coupling:
        """What the last fit made. Raises RuntimeError before the first, and after one by label."""
        if self._by_label is not None:
            raise RuntimeError(
                f"[solver] {self.name} was fitted with a condition and has a coupling for each "
                "label: sample(x0, condition=labels), by_label[label] or by_label.reversed()"
            )
        if self._coupling is None:
            raise RuntimeError(
                f"[solver] {self.name} must be fitted first: call fit(pair) or fit(x0, x1)"
            )
        return self._coupling

    @property
    def by_label(self) -> LabelledCoupling:
        """What the last fit made for each label. Raises RuntimeError without a condition."""
        if self._by_label is None:
            raise RuntimeError(
                f"[solver] {self.name} must be fitted with a condition: "
                "fit(x0, x1, condition=(labels0, labels1))"
            )
        return self._by_label

    @property
    def history(self) -> dict[str, npt.NDArray[Any]]:
        """The training of the last fit by column: 'update', 'loss', 'seconds'; see
        Coupling.history.

        `plt.plot(solver.history["update"], solver.history["loss"])` is its curve.
        """
        return self.coupling.history

    def sample(
        self, x0: ArrayT, seed: int | np.random.Generator | None = None, *, condition: Any = None
    ) -> ArrayT:
        """Draw x1 ~ q(.|x0) for each row of x0 [B,D]: int32 [B,D].

        A solver that was fitted with a condition takes one here: a label for each row.
        """
        if condition is not None:
            return self.by_label.sample(x0, condition, seed)
        return self.coupling.sample(x0, seed)

    def sample_trajectory(
        self,
        x0: ArrayT,
        num_steps: int | None = None,
        seed: int | np.random.Generator | None = None,
        *,
        condition: Any = None,
    ) -> ArrayT:
        """Draw trajectories from x0 [B,D]: int32 [B,num_steps+1,D].

        Without num_steps: those that the solver trained with, else 16.
        """
        if condition is not None:
            return self.by_label.sample_trajectory(x0, condition, num_steps, seed)
        return self.coupling.sample_trajectory(x0, num_steps, seed)

    def log_conditional(self, x0: ArrayT, x1: ArrayT, *, condition: Any = None) -> ArrayT:
        """log q(x1|x0) for the rows of x0 [B,D] and x1 [B,D]: float64 [B]."""
        if condition is not None:
            return self.by_label.log_conditional(x0, x1, condition)
        return self.coupling.log_conditional(x0, x1)

    def log_marginals(self, x0: ArrayT) -> ArrayT:
        """log q(x1^d = s | x0) for x0 [B,D]: float64 [B,D,S]."""
        return self.coupling.log_marginals(x0)

    def log_transition_marginals(self, x: ArrayT, num_steps: int, n: int) -> ArrayT:
        """log q(x_{n+1}^d = s | x_n = x) for x [B,D], n in 0..num_steps-1: float64 [B,D,S]."""
        return self.coupling.log_transition_marginals(x, num_steps, n)

    def reversed(self) -> _core.Coupling:
        """What the last fit made, read from x1 to x0: see Coupling.reversed."""
        return self.coupling.reversed()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Keep the fitted solver as a run folder, which `load` and the command line read."""
        if self._by_label is not None:
            return self._by_label.save(folder)
        self.coupling.save(folder)

    @classmethod
    def load(
        cls: type[SolverT],
        folder: str | os.PathLike[str],
        pair: _core.Pair | str | os.PathLike[str] | None = None,
    ) -> SolverT:
        """The solver of a run folder; `pair` may be left out for a preset.

        Raises ValueError where the folder holds another solver, or one of another pair.
        """
        loaded = load_solver(folder, pair)
        if not isinstance(loaded, cls):
            raise ValueError(
                f"[solver] {os.fspath(folder)} must hold a run of {cls.name}, got {loaded.name}"
            )
        return loaded

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Solver) or type(self) is not type(other):
            return NotImplemented
        return (
            self.options == other.options
            and self._coupling == other._coupling
            and self._by_label == other._by_label
        )

    __hash__ = None  # a fit changes it

    def __repr__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        fitted = ""
        if self._by_label is not None:
            fitted = f" fitted to data of {len(self._by_label)} labels"
        elif self._coupling:
            pair = self._coupling.pair
            fitted = f" fitted to {pair.name!r}" if pair else " fitted to data"
        return f"<bridgemark.{type(self).__name__}({options}){fitted}>"


class Oracle(Solver):
    name = "oracle"


class Independent(Solver):
    name = "independent"


class Reference(Solver):
    name = "reference"


class FeatureWise(Solver):
    name = "feature-wise"


class Sinkhorn(Solver):
    name = "sinkhorn"


class DLightSB(Solver):
    name = "dlightsb"


class DLightSBM(Solver):
    name = "dlightsb-m"


class DLightSBChain(Solver):
    name = "dlightsb-chain"


class DLightSBTree(Solver):
    name = "dlightsb-tree"


class CSBM(Solver):
    name = "csbm"


class AlphaCSBM(Solver):
    name = "alpha-csbm"


def _class_of(name: str) -> type[Solver]:
    if name not in _CLASSES:
        _core.resolve_options(name)  # refuses an unknown name with the nearest known
        type(name, (Solver,), {"name": name, "__module__": __name__})
    return _CLASSES[name]


def make_solver(name: str, **options: Any) -> Solver:
    """The solver of a registry name (see `solvers()`) with its options."""
    require_text(name=name)
    return _class_of(name)(**options)


def load_solver(
    folder: str | os.PathLike[str], pair: _core.Pair | str | os.PathLike[str] | None = None
) -> Solver:
    """The fitted solver of a run folder; `pair` may be left out for a preset."""
    by_label = load_labelled(folder) if pair is None else None
    coupling = next(iter(by_label.values())) if by_label else _core.load_coupling(folder, pair)
    solver = _class_of(coupling.solver)(**coupling.options)
    if by_label:
        solver._by_label = by_label
    else:
        solver._coupling = coupling
    return solver
