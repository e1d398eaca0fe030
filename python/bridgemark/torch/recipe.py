"""The options of the solvers, and the schedules that they make."""

from __future__ import annotations

import dataclasses
import difflib
import math
from typing import Any, ClassVar, TypeVar

RecipeT = TypeVar("RecipeT", bound="Recipe")

FORWARD, BACKWARD = "forward", "backward"

_CHOICES = {
    "loss": ("kl", "mse"),
    "schedule": ("constant", "cosine", "restarts"),
    "initial": ("independent", "minibatch-ot", "reference"),
    "precision": ("float32", "bfloat16"),
}
_LEAST_ONE = (
    "imf_iterations", "updates_first", "updates_later", "batch_size", "points", "initial_pairs",
    "initial_batch", "patience", "log_every",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How networks are trained; the defaults are those that were found for the library's own CSBM.

    `updates_first` and `updates_later` are those of each network in the first and in each later of
    `imf_iterations` D-IMF iterations. `batch_size` pairs make an update, with `points` steps and
    states between them each. `initial` couples the pairs of the first iteration: "independent",
    "minibatch-ot" (`initial_pairs` of them made in batches of `initial_batch`) or "reference".
    `schedule` of the learning rate: "restarts" is a cosine for each iteration, "cosine" one for the
    whole training. `clip` bounds the norm of a gradient. On rows that end, a share `holdout` is
    kept apart, and an iteration ends after `patience` looks at it without gain; `refit` then trains
    once more on all rows. `precision` "bfloat16" runs the network in mixed precision. A `folder` of
    `fit` gets a checkpoint every `checkpoint_every` seconds.
    """

    loss: str = "kl"
    imf_iterations: int = 5
    updates_first: int = 3000
    updates_later: int = 1000
    batch_size: int = 128
    points: int = 4
    initial: str = "minibatch-ot"
    initial_pairs: int = 32768
    initial_batch: int = 512
    learning_rate: float = 1e-3
    schedule: str = "restarts"
    weight_decay: float = 0.01
    clip: float | None = None
    ema: float = 0.999
    holdout: float = 0.2
    patience: int = 20
    refit: bool = True
    precision: str = "float32"
    log_every: int = 100
    checkpoint_every: float = 30.0

    _without: ClassVar[tuple[str, ...]] = ()  # options that a solver does not have

    @classmethod
    def keys(cls) -> list[str]:
        """The options by name."""
        fields = (field.name for field in dataclasses.fields(cls))
        return [name for name in fields if name not in cls._without]

    @property
    def options(self) -> dict[str, Any]:
        """Their values."""
        return {key: getattr(self, key) for key in self.keys()}

    @classmethod
    def of(cls: type[RecipeT], options: dict[str, Any], **defaults: Any) -> RecipeT:
        """Raises ValueError that names an option that is unknown or out of range."""
        known = cls.keys()
        for key in options:
            if key not in known:
                nearest = difflib.get_close_matches(key, known, 1)
                hint = f"did you mean {nearest[0]}?" if nearest else f"known are {', '.join(known)}"
                raise ValueError(f"[torch] unknown option {key}, {hint}")
        recipe = cls(**{**defaults, **options})
        recipe.check()
        return recipe

    def check(self) -> None:
        """Raises ValueError that names an option that is out of range."""
        for key, names in _CHOICES.items():
            self._require(getattr(self, key) in names, key, f"one of {', '.join(names)}")
        for key in _LEAST_ONE:
            self._require_count(key)
        self._require(0.0 < self.learning_rate < math.inf, "learning_rate", "positive")
        self._require(0.0 <= self.weight_decay < math.inf, "weight_decay", "at least 0")
        self._require(0.0 <= self.ema <= 1.0, "ema", "in [0, 1]")
        self._require(0.0 <= self.holdout <= 0.9, "holdout", "in [0, 0.9]")
        self._require(self.clip is None or self.clip > 0.0, "clip", "positive or None")
        self._require(self.checkpoint_every >= 0.0, "checkpoint_every", "at least 0")

    def _require(self, fine: bool, key: str, expected: str) -> None:
        if not fine:
            raise ValueError(f"[torch] {key} must be {expected}, got {getattr(self, key)!r}")

    def _require_count(self, key: str) -> None:
        value = getattr(self, key)
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        self._require(whole, key, "a whole number of at least 1")

    def updates_of(self, iteration: int) -> int:
        """Of each network in an iteration, counted from 1."""
        return self.updates_first if iteration == 1 else self.updates_later

    def rate_at(self, iteration: int, update: int) -> float:
        """The learning rate of an update of an iteration, from 0."""
        if self.schedule == "constant":
            return self.learning_rate
        done, length = update, self.updates_of(iteration)
        if self.schedule == "cosine":
            done += sum(self.updates_of(i) for i in range(1, iteration))
            length = sum(self.updates_of(i) for i in range(1, self.imf_iterations + 1))
        return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * done / length))

    def ema_at(self, count: int) -> float:
        """Grows towards ema with a network's updates, so that the start is soon forgotten."""
        return min(self.ema, (1.0 + count) / (10.0 + count))


@dataclasses.dataclass(frozen=True)
class PlainRecipe(Recipe):
    """Options where nothing is iterated: `updates` for each network, all on the first pairs."""

    updates: int = 7000
    imf_iterations: int = 1

    _without: ClassVar[tuple[str, ...]] = (
        "loss", "imf_iterations", "updates_first", "updates_later",
    )  # fmt: skip

    def check(self) -> None:
        """As that of Recipe."""
        super().check()
        self._require_count("updates")

    def updates_of(self, iteration: int) -> int:
        """All of them."""
        return self.updates


@dataclasses.dataclass(frozen=True)
class Stage:
    """Updates that train the same networks on pairs of the same kind."""

    iteration: int
    directions: tuple[str, ...]

    @property
    def name(self) -> str:
        """As diagnostics call it: "2_forward", or "2" where both are trained."""
        one = f"_{self.directions[0]}" if len(self.directions) == 1 else ""
        return f"{self.iteration}{one}"


def stages_of(recipe: Recipe, both_directions: bool) -> list[Stage]:
    """D-IMF: forward, then backward in each iteration, or both in each update."""
    passes = [(FORWARD, BACKWARD)] if both_directions else [(FORWARD,), (BACKWARD,)]
    iterations = range(1, recipe.imf_iterations + 1)
    return [Stage(i, directions) for i in iterations for directions in passes]
