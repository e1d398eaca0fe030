"""Solvers of one's own in experiments: classes of Python, by their place or a package's name.

What the library calls here it calls by `find` and `names` (python/bindings/outside_solvers.cc).
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import importlib.metadata
import inspect
import json
import math
import numbers
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from . import _core
from ._progress import Reporter

GROUP = "bridgemark.solvers"  # of entry points
_PREFIX = "python:"
_PACKAGE = Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Option:
    """What an option of a solver of your own may be: a value of `options` of its class.

    The default says of which type it is: a whole number, a number, True or False, or text. Numbers
    may have bounds `low` and `high`, themselves allowed, and text `choices`. `help` says what the
    option means. A training takes longer by as much as an option that `counts_updates` is larger:
    `bridgemark run --estimate` trains with less of it.
    """

    default: int | float | bool | str
    help: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    counts_updates: bool = False

    def _kind(self) -> str:
        if isinstance(self.default, bool):
            return "choice"
        if isinstance(self.default, int):
            return "int"
        if isinstance(self.default, float):
            return "float"
        if isinstance(self.default, str):
            return "choice" if self.choices else "text"
        raise ValueError(f"must have a number, True, False or text, got {self.default!r}")

    def _describe(self, key: str) -> dict[str, Any]:
        kind = self._kind()
        is_flag = isinstance(self.default, bool)
        described: dict[str, Any] = {
            "key": key,
            "kind": kind,
            "default": str(self.default).lower() if is_flag else str(self.default),
            "help": self.help,
            "counts_updates": self.counts_updates,
        }
        if kind in ("int", "float"):
            described |= {"low": self.low, "high": self.high}
        elif kind == "choice":
            if not all(isinstance(choice, str) for choice in self.choices):
                raise ValueError(f"must have texts as choices, got {self.choices!r}")
            described["choices"] = ["false", "true"] if is_flag else list(self.choices)
        elif self.low is not None or self.high is not None:
            raise ValueError("is text, which has no low and high")
        if self.counts_updates and kind != "int":
            raise ValueError("counts updates and must be a whole number")
        return described

    def _read(self, text: str) -> int | float | bool | str:
        if isinstance(self.default, bool):
            return text == "true"
        return type(self.default)(text)


@dataclasses.dataclass
class SolverRun:
    """What a solver of your own is told of its run, and where it keeps what it likes to keep.

    States have `dim` coordinates of `num_categories` categories. `seed` is that of the training.
    `folder` is the solver's own: what is written there is there again when a run that was stopped
    goes on, and when `load` reads what was fitted. `device` is "cpu" or "cuda", which `sharers`
    processes share; `threads` are for this one. `diagnostics` may be given numbers and texts by
    name, for the run's result.json: "training_seconds" among them is the training's time, in place
    of that of the whole fit.
    """

    dim: int
    num_categories: int
    seed: int
    folder: Path
    device: str = "cpu"
    threads: int = 1
    sharers: int = 1
    diagnostics: dict[str, Any] = dataclasses.field(default_factory=dict)
    _report: Reporter | None = dataclasses.field(default=None, repr=False)

    def progress(self, done: int, total: int, detail: str = "") -> None:
        """Tell whoever looks at the grid how far the training is."""
        if self._report is not None:
            self._report("training", done, total, detail)


@dataclasses.dataclass
class Process:
    """What the process of a run was started with; outside of one these values."""

    pair: str | None = None  # the name of the run's pair
    device: str = "cpu"
    threads: int = 1
    sharers: int = 1
    report: Reporter | None = None


process = Process()
# Folders of solvers whose runs are not kept, which go when this process ends.
_folders: list[tempfile.TemporaryDirectory[str]] = []


class OutsideClass:
    """A class of Python as the library asks for it."""

    def __init__(self, name: str, kind: type[Any]):
        self._name, self._class = name, kind
        if not callable(getattr(kind, "fit", None)):
            raise ValueError(
                f"[solver] {name} must have fit(x0, x1, reference, options, run), "
                f"got {kind.__name__} without it"
            )
        self._options = {
            key: given if isinstance(given, Option) else Option(given)
            for key, given in _options_of(name, kind).items()
        }

    def describe(self) -> str:
        """What the class says of itself, as JSON."""
        document = inspect.getdoc(self._class) or self._name
        return json.dumps(
            {
                "title": getattr(self._class, "title", self._class.__name__),
                "description": document.splitlines()[0].rstrip("."),
                "options": [self._describe_option(key) for key in self._options],
                "has_both_directions": bool(getattr(self._class, "both_directions", False)),
                "keeps_model": callable(getattr(self._class, "load", None)),
            }
        )

    def fit(
        self, x0: Any, x1: Any, options: dict[str, str], seed: int, folder: Path | None
    ) -> tuple[object, str]:
        """What the class fits, and its diagnostics as JSON. Without x1, x0 is a pair."""
        pair = x0 if x1 is None else _core.load(process.pair or "")
        solver, run = self._class(), _make_run(pair, seed, folder)
        started = time.monotonic()
        fitted = solver.fit(x0, x1, pair.reference, self._read(options), run)
        told = {"training_seconds": time.monotonic() - started, **run.diagnostics}
        return solver if fitted is None else fitted, _diagnostics_text(self._name, told)

    def load(self, pair: Any, options: dict[str, str], seed: int, folder: Path) -> object:
        """What a fit kept in the folder."""
        solver = self._class()
        run = _make_run(pair, seed, folder)
        fitted = solver.load(pair.reference, self._read(options), run)
        return solver if fitted is None else fitted

    def _describe_option(self, key: str) -> dict[str, Any]:
        try:
            described = self._options[key]._describe(key)
            if key == "num_steps" and described["kind"] != "int":
                raise ValueError("is that of the chain and must be a whole number")
        except ValueError as error:
            raise ValueError(f"[solver] option {key} of {self._name} {error}") from None
        return described

    def _read(self, options: dict[str, str]) -> dict[str, Any]:
        return {key: option._read(options[key]) for key, option in self._options.items()}


def _options_of(name: str, kind: type[Any]) -> dict[str, Any]:
    options = getattr(kind, "options", {})
    if not isinstance(options, dict) or not all(isinstance(key, str) for key in options):
        raise ValueError(f"[solver] options of {name} must be a dict of names, got {options!r}")
    return options


def _make_run(pair: Any, seed: int, folder: Path | None) -> SolverRun:
    if folder is None:
        _folders.append(tempfile.TemporaryDirectory(prefix="bridgemark-"))
        folder = Path(_folders[-1].name)
    folder.mkdir(parents=True, exist_ok=True)
    at = process
    return SolverRun(
        dim=pair.dim,
        num_categories=pair.num_categories,
        seed=seed,
        folder=folder,
        device=at.device,
        threads=at.threads,
        sharers=at.sharers,
        _report=at.report,
    )


def _diagnostics_text(name: str, told: dict[str, Any]) -> str:
    """As JSON, where a number that is not finite is null."""
    plain: dict[str, Any] = {}
    for key, value in told.items():
        if isinstance(value, (str, bool)):
            plain[str(key)] = value
        elif isinstance(value, numbers.Integral):
            plain[str(key)] = int(value)
        elif isinstance(value, numbers.Real):
            plain[str(key)] = float(value) if math.isfinite(value) else None
        else:
            raise TypeError(
                f"[solver] diagnostics of {name} must be numbers or texts, got {key}={value!r}"
            )
    return json.dumps(plain)


def is_of_experiments(solver: Any) -> bool:
    """Whether an object's fit has the arguments of a class of an experiment."""
    try:
        signature = inspect.signature(solver.fit)
        signature.bind(*range(5))
    except (TypeError, ValueError):
        return False
    needed = [p for p in signature.parameters.values() if p.default is p.empty]
    return sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in needed) == 5


def fit_by_defaults(
    solver: Any, pair: _core.Pair, seed: int, report: Reporter | None, device: str
) -> Any:
    """What such an object fits to endless draws of a pair, by the defaults of its options."""
    kind = type(solver)
    options = {
        key: given.default if isinstance(given, Option) else given
        for key, given in _options_of(kind.__name__, kind).items()
    }
    run = dataclasses.replace(_make_run(pair, seed, None), device=device, _report=report)
    fitted = solver.fit(pair, None, pair.reference, options, run)
    return solver if fitted is None else fitted


def find(name: str) -> OutsideClass | None:
    """The solver of a name, None where no package gives it."""
    place = _place_of(name)
    if place is None:
        return None
    module, attribute = place
    return OutsideClass(name, _class_in(name, _import(name, module), attribute))


def find_loaded(name: str) -> OutsideClass | None:
    """The same of a module that is imported already, else None."""
    place = _place_of(name)
    return find(name) if place is not None and place[0] in sys.modules else None


def _place_of(name: str) -> tuple[str, str] | None:
    """Module and class of a name, None where no package gives it."""
    if name.startswith(_PREFIX):
        module, _, attribute = name[len(_PREFIX) :].partition(":")
        if not module or not attribute:
            raise ValueError(
                f"[solver] a solver of Python must be python:MODULE:CLASS, got '{name}'"
            )
        return module, attribute
    for entry in importlib.metadata.entry_points(group=GROUP):
        if entry.name == name:
            return entry.module, entry.attr
    return None


def names() -> list[str]:
    """Of the solvers that installed packages offer."""
    return sorted({entry.name for entry in importlib.metadata.entry_points(group=GROUP)})


def _import(name: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise ValueError(
                f"[solver] module of {name} must be in the working folder or installed, "
                f"got '{module}', which is neither"
            ) from None
        raise ValueError(f"[solver] {module} of {name} {one_line(error)}") from None
    except (Exception, SystemExit) as error:  # a script may end itself
        raise ValueError(f"[solver] {module} of {name} {one_line(error)}") from None


def _class_in(name: str, module: ModuleType, attribute: str) -> type[Any]:
    found = getattr(module, attribute, None)
    if isinstance(found, type):
        return found
    classes = [key for key, value in vars(module).items() if isinstance(value, type)]
    nearest = difflib.get_close_matches(attribute, classes, 1)
    hint = f"; the nearest is {nearest[0]}" if nearest else ""
    raise ValueError(
        f"[solver] class of {name} must be in {module.__name__}, got '{attribute}'{hint}"
    )


def place_of(error: BaseException) -> traceback.FrameSummary | None:
    """Where it was raised in code that is not this package's: in none that is installed, if any."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if _PACKAGE not in Path(frame.filename).parents and not frame.filename.startswith("<")
    ]
    own = [frame for frame in frames if not _is_installed(frame.filename)]
    chosen = own or frames
    return chosen[-1] if chosen else None


def _is_installed(file: str) -> bool:
    return any(folder in file for folder in ("site-packages", "dist-packages", "/lib/python"))


def one_line(error: BaseException) -> str:
    """What was raised, and where if that is not this package's code."""
    text = " ".join(str(error).split())
    at = place_of(error)
    if at is None:
        return text or type(error).__name__
    where = f"{os.path.basename(at.filename)}, line {at.lineno}, in {at.name}"
    return f"{type(error).__name__}: {text} ({where})"


_core.find_solvers_by(find, find_loaded, names)
