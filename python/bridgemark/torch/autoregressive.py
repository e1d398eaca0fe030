"""A bridge that moves one coordinate after another: its joint is exact."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ._data import Data
from ._matching import Matching
from ._solver import TwoWaySolver
from .coupling import Drawing, like
from .recipe import FORWARD, Recipe
from .reference import Reference


class AutoregressiveCoupling(Drawing):
    """q(x1|x0) as a product over coordinates, one after another in an order.

    `network(x, n)` takes states x whose first n coordinates of the order are those of x1 already
    and the others still those of x0, and n, int64 [B] in 0..D-1; of its logits [B,D,S] those of the
    next coordinate count. D calls make a draw.
    """

    def __init__(
        self, network: nn.Module, reference: Reference, order: Sequence[int], **where: Any
    ):
        super().__init__(network, reference.with_steps(1), **where)
        self.order = list(order)

    def log_conditional(self, x0: Any, x1: Any) -> Any:
        """log q(x1|x0) for the rows of x0 and x1 [B,D], exact: float64 [B]."""
        starts, ends = self.blocks(self.states(x0)), self.blocks(self.states(x1))
        with torch.no_grad():
            return like(x0, torch.cat([self._log_probs(a, b) for a, b in zip(starts, ends)]))

    def draw_ends(self, x0: Tensor, generator: torch.Generator) -> Tensor:
        """A coordinate after the other."""
        return _sweep(self, x0, self.order, 1, 0, generator)

    def _log_probs(self, x0: Tensor, x1: Tensor) -> Tensor:
        x, total = x0.clone(), torch.zeros(len(x0), dtype=torch.float64, device=x0.device)
        for n, d in enumerate(self.order):
            logits = self.logits(x, n)[:, d : d + 1].double()
            law = self.reference.step(x[:, d : d + 1], 0, logits)
            total += law.gather(-1, x1[:, d].view(-1, 1, 1)).view(-1)
            x[:, d] = x1[:, d]
        return total


class SweepingCoupling(Drawing):
    """The chain that D-IMF walks: every sweep moves each coordinate by a step of the reference."""

    def __init__(
        self, network: nn.Module, reference: Reference, order: Sequence[int], **where: Any
    ):
        super().__init__(network, reference, **where)
        self.order = list(order)

    def draw_ends(self, x0: Tensor, generator: torch.Generator) -> Tensor:
        """The states after the last sweep."""
        order, sweeps = self.order, self.reference.num_steps
        return _sweep(self, x0, order, sweeps, len(order), generator)


def _sweep(
    coupling: Drawing,
    x0: Tensor,
    order: Sequence[int],
    sweeps: int,
    first: int,
    generator: torch.Generator,
) -> Tensor:
    """States after the sweeps, whose steps have the numbers from `first` on in the network."""
    ends = []
    with torch.no_grad():
        for start in coupling.blocks(x0):
            x = start.clone()
            for n in range(sweeps * len(order)):
                k, d = n // len(order), order[n % len(order)]
                here, logits = x[:, d : d + 1], coupling.logits(x, first + n)[:, d : d + 1]
                x[:, d : d + 1] = coupling.reference.transition_sample(here, k, logits, generator)
            ends.append(x)
    return torch.cat(ends)


class CoordinateMatching(Matching):
    """The reference whose coordinates move one after another.

    The network has D (1 + sweeps) steps. The first D are the answer: a coordinate of each goes all
    the way to the end, so that the state between is known. The others are of the chain that is
    iterated: in a sweep each coordinate makes one of the reference's steps, as many as sweeps. The
    answer alone would be no bridge: without states between that are drawn every coupling agrees
    with the reference.
    """

    def __init__(self, reference: Reference, order: Sequence[int]):
        """`reference` has as many steps as there are sweeps."""
        super().__init__(reference, len(order) * (1 + reference.num_steps))
        self.whole, self.order = reference.with_steps(1), list(order)

    def between(self, start: Tensor, end: Tensor, n: Tensor, generator: torch.Generator) -> Tensor:
        """Draws of the pinned reference, each coordinate at its own time."""
        time, left = self._sweep_of(n).clamp(min=0), self._left(n)
        times = time.unsqueeze(-1) + (~left).to(torch.int64)
        ends = (start.reshape(-1, 1), end.reshape(-1, 1))
        drawn = self.reference.pinned_sample(*ends, times.view(-1), generator).view(start.shape)
        known = torch.where(left, start, end)
        return torch.where(self._is_answer(n).unsqueeze(-1), known, drawn)

    def losses(self, x: Tensor, n: Tensor, logits: Tensor, end: Tensor) -> Tensor:
        """KL of the pinned step from the network's, the mean over coordinates yet to move."""
        kind = torch.float64 if logits.dtype == torch.float64 else torch.float32
        kl = torch.zeros(x.shape, dtype=kind, device=x.device)
        answer = self._is_answer(n)
        for rows, reference, time in (
            (answer, self.whole, torch.zeros_like(n)),
            (~answer, self.reference, self._sweep_of(n)),
        ):
            at = rows.nonzero().squeeze(1)
            kl = kl.index_add(0, at, reference.step_kl(x[at], time[at], logits[at], end[at]))
        left = self._left(n)
        return kl.masked_fill(~left, 0.0).sum(-1) / left.sum(-1)

    def coupling(self, network: nn.Module, **where: Any) -> AutoregressiveCoupling:
        """The answer."""
        return AutoregressiveCoupling(network, self.reference, self.order, **where)

    def chain(self, network: nn.Module, **where: Any) -> SweepingCoupling:
        """The sweeps."""
        return SweepingCoupling(network, self.reference, self.order, **where)

    def _is_answer(self, n: Tensor) -> Tensor:
        return n < len(self.order)

    def _sweep_of(self, n: Tensor) -> Tensor:
        """Of each step, -1 of those of the answer."""
        return torch.div(n, len(self.order), rounding_mode="floor") - 1

    def _left(self, n: Tensor) -> Tensor:
        """Coordinates [B,D] that have not moved in their sweep before step n."""
        size = len(self.order)
        places = torch.empty(size, dtype=torch.int64, device=n.device)
        places[torch.tensor(self.order, device=n.device)] = torch.arange(size, device=n.device)
        return places >= (n % size).unsqueeze(-1)


@dataclasses.dataclass(frozen=True)
class AutoregressiveRecipe(Recipe):
    """As Recipe; `order` of the coordinates is 0..D-1 without it, `sweeps` those of the chain."""

    order: Sequence[int] | None = None
    sweeps: int = 2

    _without: ClassVar[tuple[str, ...]] = ("loss",)

    def __post_init__(self) -> None:
        """A list of a configuration is the tuple that was written."""
        if isinstance(self.order, list):
            object.__setattr__(self, "order", tuple(self.order))

    def check(self) -> None:
        """As that of Recipe."""
        super().check()
        self._require_count("sweeps")
        if self.order is not None:
            fine = isinstance(self.order, tuple) and set(self.order) == set(range(len(self.order)))
            self._require(
                fine and self.order != (), "order", "each coordinate 0..D-1 once, or None"
            )


class AutoregressiveBridge(TwoWaySolver[AutoregressiveCoupling]):
    """A bridge p(x1^d | x0, x1^{<d}) of a network of your own, whose joint is exact.

    The network takes states, int64 [B,D], and n, int64 [B] in 0..D(1+sweeps)-1, and gives logits
    [B,D,S]. At n < D the first n coordinates of a state have come to x1 and the others are still
    those of x0; the logits of the next one are the answer, and D calls draw x1. Nothing else of x0
    is needed: given where the others are, a bridge has forgotten where a coordinate came from. The
    steps from D on are of a chain whose coordinates also move one after another, but `sweeps` times
    each, by a step of the reference: D-IMF iterates it, forward and backward, as CSBM does its own,
    and no step takes coordinates to be independent. The answer learns the pairs that the chain is
    trained on. `order` is of the forward direction; the backward one goes through it from its end.
    `reference` is a Reference, a pair or pair.reference; `options` are those of
    `bridgemark.torch.Recipe` but for `loss`, and `order` and `sweeps` (2), which divides the
    reference's total_steps.

    After `fit` it is a coupling with `sample` and an exact `log_conditional`, so that
    `bridgemark.evaluate(pair, model)` gives the joint KL itself; `reversed()` is the other way.
    """

    name: ClassVar[str] = "autoregressive"
    _recipe: ClassVar[type[Recipe]] = AutoregressiveRecipe

    def __init__(
        self,
        network: nn.Module,
        reference: Any,
        *,
        backward: nn.Module | None = None,
        device: torch.device | str = "cpu",
        **options: Any,
    ):
        sweeps, whole = AutoregressiveRecipe.of(options).sweeps, Reference.of(reference, 1)
        if whole.total_steps % sweeps:
            raise ValueError(
                "[torch] sweeps must divide the reference's total_steps, "
                f"{whole.total_steps}, got {sweeps}"
            )
        super().__init__(network, whole.with_steps(sweeps), backward, device, options)

    def log_conditional(self, x0: Any, x1: Any) -> Any:
        """log q(x1|x0) for the rows of x0 and x1 [B,D], exact: float64 [B]."""
        return self.coupling.log_conditional(x0, x1)

    def _matching(self, direction: str) -> CoordinateMatching:
        assert isinstance(self.recipe, AutoregressiveRecipe)
        order = self.recipe.order or range(int(self._about["dim"] or 0))
        forward = direction == FORWARD
        return CoordinateMatching(self._references[direction], order if forward else order[::-1])

    def _check_network(self, data: Data) -> None:
        assert isinstance(self.recipe, AutoregressiveRecipe)
        order = self.recipe.order
        if order is not None and len(order) != data.dim:
            raise ValueError(
                f"[torch] order must have each of the {data.dim} coordinates, got {list(order)}"
            )
        super()._check_network(data)
