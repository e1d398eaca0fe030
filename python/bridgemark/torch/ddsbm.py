"""DDSBM for any torch network: bridge matching of rates in continuous time."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ._matching import Matching
from ._solver import ChainSolver
from .continuous import ContinuousReference
from .coupling import ChainCoupling
from .recipe import Recipe


class RateCoupling(ChainCoupling):
    """The chain of rates that logits steer, by leaps or by steps of the steered process."""

    def __init__(
        self, network: nn.Module, reference: ContinuousReference, sampler: str, **where: Any
    ):
        super().__init__(network, reference, **where)
        self.process, self.sampler = reference, sampler

    def log_step(self, x: Tensor, n: int, logits: Tensor) -> Tensor:
        """By the sampler."""
        if self.sampler == "leaps":
            return self.process.leap(x, n, logits)
        return self.process.step(x, n, logits)


class RateMatching(Matching):
    """Rates of the pinned process, matched at the times of the steps by those that logits steer."""

    def __init__(self, reference: ContinuousReference, sampler: str):
        super().__init__(reference, reference.num_steps)
        self.process, self.sampler = reference, sampler

    def between(self, start: Tensor, end: Tensor, n: Tensor, generator: torch.Generator) -> Tensor:
        """Draws of the pinned process."""
        return self.process.pinned_sample(start, end, n, generator)

    def losses(self, x: Tensor, n: Tensor, logits: Tensor, end: Tensor) -> Tensor:
        """KL of rates, the mean over coordinates."""
        return self.process.rate_kl(x, n, logits, end).mean(-1)

    def coupling(self, network: nn.Module, **where: Any) -> RateCoupling:
        """The chain."""
        return RateCoupling(network, self.process, self.sampler, **where)


@dataclasses.dataclass(frozen=True)
class DDSBMRecipe(Recipe):
    """As Recipe; `sampler` is "steps" or "leaps"."""

    sampler: str = "steps"

    _without: ClassVar[tuple[str, ...]] = ("loss",)

    def check(self) -> None:
        """As that of Recipe."""
        super().check()
        self._require(self.sampler in ("steps", "leaps"), "sampler", "one of steps, leaps")


class DDSBM(ChainSolver[RateCoupling]):
    """Discrete diffusion Schrödinger bridge matching of a network of your own.

    The reference becomes a chain in continuous time (`ContinuousReference`), and D-IMF matches the
    rates of its jumps instead of its steps. The network is that of CSBM, asked at the times of
    num_steps steps: its logits weigh the clean end, and the rates are the process's own times
    h(s) / h(x). `sampler` draws by "steps" of the process that they steer (the default), or by
    "leaps" in which rates stay those at the step's start and a coordinate makes one jump at the
    most. `options` are those of `bridgemark.torch.Recipe` but for `loss`, and `sampler`. The bridge
    that it comes to is that of the chain in continuous time, whose law from x0 to x1 differs a
    little from the reference's.

    After `fit` it is a coupling with steps, as CSBM is.
    """

    name: ClassVar[str] = "ddsbm"
    _recipe: ClassVar[type[Recipe]] = DDSBMRecipe

    def __init__(
        self,
        network: nn.Module,
        reference: Any,
        *,
        num_steps: int | None = None,
        backward: nn.Module | None = None,
        device: torch.device | str = "cpu",
        **options: Any,
    ):
        super().__init__(
            network, reference, num_steps=num_steps, backward=backward, device=device, **options
        )
        self._processes = {d: ContinuousReference(r) for d, r in self._references.items()}

    def _matching(self, direction: str) -> RateMatching:
        assert isinstance(self.recipe, DDSBMRecipe)
        return RateMatching(self._processes[direction], self.recipe.sampler)
