"""What a training draws from: rows of either end, endless or a set, and the first pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ._seeds import derive_seed, make_generator
from .recipe import Recipe
from .reference import Reference

# Of rows kept apart, as the library does it.
_LEAST_HELD_OUT = 50
_SPLIT_SEED = 0  # which rows depends on their number alone: every seed is judged by the same


@dataclasses.dataclass
class Data:
    """Rows x0 and x1 to train on, unpaired; a pair has endless ones."""

    dim: int
    x0: Tensor | None  # [n,D] on the device of the training; None where a pair draws
    x1: Tensor | None
    pair: Any = None
    name: str = ""
    samples: int = 0  # of the pair's training set; 0: endless
    training_set: int = 0

    @property
    def is_endless(self) -> bool:
        """Whether each batch has rows of its own."""
        return self.x0 is None

    def draw(self, end: str, rows: int, device: torch.device, seed: int, *which: int) -> Tensor:
        """Rows of "x0" or "x1" that depend on the seed and its details alone."""
        held = self.x0 if end == "x0" else self.x1
        if held is None:
            sample = self.pair.sample_x0 if end == "x0" else self.pair.sample_x1
            drawn = sample(rows, seed=derive_seed(seed, end, *which))
            return torch.as_tensor(drawn).to(device, torch.int64)
        generator = make_generator(device, seed, end, *which)
        picked = torch.randint(len(held), (rows,), device=device, generator=generator)
        return held[picked]

    def split(self, share: float) -> tuple[Data, Data | None]:
        """Rows to train on, and rows kept apart; none of endless ones, or for a share of 0."""
        if self.x0 is None or self.x1 is None or share == 0.0 or min(map(len, self.ends())) < 2:
            return self, None
        parts = [_split_rows(rows, share, end) for end, rows in enumerate(self.ends())]
        kept, apart = zip(*parts)
        return self._with_rows(*kept), self._with_rows(*apart)

    def _with_rows(self, x0: Tensor, x1: Tensor) -> Data:
        return dataclasses.replace(self, x0=x0, x1=x1)

    def ends(self) -> tuple[Tensor, Tensor]:
        """The rows of a set."""
        assert self.x0 is not None and self.x1 is not None
        return self.x0, self.x1


def _split_rows(rows: Tensor, share: float, end: int) -> tuple[Tensor, Tensor]:
    n = len(rows)
    count = min(max(-int(-share * n // 1), _LEAST_HELD_OUT), n // 2)
    generator = make_generator(torch.device("cpu"), _SPLIT_SEED, "holdout", end)
    apart = torch.zeros(n, dtype=torch.bool)
    apart[torch.randperm(n, generator=generator)[:count]] = True
    apart = apart.to(rows.device)
    return rows[~apart], rows[apart]


def read_data(
    given: Any,
    x1: Any,
    samples: int,
    training_set: int,
    reference: Reference,
    device: torch.device,
) -> Data:
    """What `fit` was given: a pair or its name, or two sets of states."""
    if x1 is not None:
        if samples or training_set:
            raise ValueError("[torch] samples and training_set belong to a pair, fit(pair)")
        x0, x1 = (_states(n, v, reference, device) for n, v in (("x0", given), ("x1", x1)))
        if x0.shape[1] != x1.shape[1]:
            raise ValueError(
                "[torch] x0 and x1 must have the same coordinates, "
                f"got {x0.shape[1]} and {x1.shape[1]}"
            )
        return Data(x0.shape[1], x0, x1)
    pair = given
    if not hasattr(pair, "sample_x0"):
        from .. import load

        pair = load(given)
    if pair.num_categories != reference.num_categories:
        raise ValueError(
            f"[torch] pair must have the reference's {reference.num_categories} categories, "
            f"got {pair.num_categories}"
        )
    if samples == 0:
        return Data(pair.dim, None, None, pair, pair.name)
    rows = pair.training_set(samples, index=training_set)
    x0, x1 = (_states(n, v, reference, device) for n, v in zip(("x0", "x1"), rows))
    return Data(pair.dim, x0, x1, pair, pair.name, samples, training_set)


def _states(name: str, given: Any, reference: Reference, device: torch.device) -> Tensor:
    rows = given if isinstance(given, Tensor) else torch.as_tensor(np.asarray(given))
    if rows.dim() != 2 or rows.dtype.is_floating_point or rows.numel() == 0:
        raise ValueError(
            f"[torch] {name} must be integers [n,D], got shape {list(rows.shape)} of {rows.dtype}"
        )
    rows = rows.to(device, torch.int64)
    low, high = int(rows.min()), int(rows.max())
    if low < 0 or high >= reference.num_categories:
        raise ValueError(
            f"[torch] {name} must have categories in 0..{reference.num_categories - 1}, "
            f"got {low if low < 0 else high}"
        )
    return rows


def couple_first(
    recipe: Recipe,
    reference: Reference,
    x0: Tensor,
    x1: Tensor,
    generator: torch.Generator,
    report: Callable[[int, int], object] | None = None,
) -> tuple[Tensor, Tensor]:
    """Rows of both ends as pairs of the first coupling."""
    if recipe.initial == "reference":
        return x0, reference.sample(x0, reference.num_steps, generator)
    if recipe.initial == "independent":
        return x0, x1
    matched = []
    batches = list(zip(*(torch.split(ends, recipe.initial_batch) for ends in (x0, x1))))
    for i, (a, b) in enumerate(batches):
        matched.append(b[_least_cost(-_log_prob_of_all(reference, a, b), a.device)])
        if report:
            report(i + 1, len(batches))
    return x0, torch.cat(matched)


def _log_prob_of_all(reference: Reference, x0: Tensor, x1: Tensor) -> Tensor:
    """log q_ref(x1|x0) of every row of x0 with every row of x1: [n,n]."""
    total = torch.zeros(len(x0), len(x1), dtype=torch.float64, device=x0.device)
    for d in range(x0.shape[1]):
        total += reference.log_prob(x0[:, d : d + 1], x1[None, :, d])
    return total


def _least_cost(cost: Tensor, device: torch.device) -> Tensor:
    from .. import _core

    return torch.as_tensor(_core.assignment(cost.cpu().numpy())).to(device, torch.int64)


class FirstPairs:
    """Pairs of the first iteration: made once and drawn with replacement, or drawn unpaired."""

    def __init__(
        self,
        recipe: Recipe,
        reference: Reference,
        data: Data,
        device: torch.device,
        seed: int,
        report: Callable[[int, int], object] | None = None,
    ):
        self._data, self._device, self._seed = data, device, seed
        self._made: tuple[Tensor, Tensor] | None = None
        if recipe.initial != "independent":
            x0 = data.draw("x0", recipe.initial_pairs, device, seed, -1)
            x1 = data.draw("x1", recipe.initial_pairs, device, seed, -1)
            generator = make_generator(device, seed, "first pairs")
            self._made = couple_first(recipe, reference, x0, x1, generator, report)

    def draw(self, rows: int, *which: int) -> tuple[Tensor, Tensor]:
        """Of the update and rank that `which` says."""
        if self._made is None:
            x0, x1 = (
                self._data.draw(end, rows, self._device, self._seed, *which) for end in ("x0", "x1")
            )
            return x0, x1
        generator = make_generator(self._device, self._seed, "pairs", *which)
        picked = torch.randint(
            len(self._made[0]), (rows,), device=self._device, generator=generator
        )
        return self._made[0][picked], self._made[1][picked]
