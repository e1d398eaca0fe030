"""What a network learns of one direction: states between pairs, its loss there, its coupling."""

from __future__ import annotations

import abc
from typing import Any

import torch
from torch import Tensor, nn

from .coupling import Drawing, NetworkCoupling
from .reference import Reference


class Answer(abc.ABC):
    """The couplings that a network makes, asked at steps 0..num_steps-1.

    `reference` leads from where the direction's chain starts to its clean end.
    """

    def __init__(self, reference: Reference, num_steps: int):
        self.reference, self.num_steps = reference, num_steps

    @abc.abstractmethod
    def coupling(self, network: nn.Module, **where: Any) -> Drawing:
        """What the network draws; `where` has its device and precision."""

    def chain(self, network: nn.Module, **where: Any) -> Drawing:
        """What draws the pairs of the next iteration, where that is something else."""
        return self.coupling(network, **where)


class Matching(Answer):
    """A network that is trained at states between pairs, each row by a loss of its own."""

    def draw_points(
        self, start: Tensor, end: Tensor, points: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """States x and steps n between pairs, `points` for each, with their ends."""
        start, end = start.repeat_interleave(points, 0), end.repeat_interleave(points, 0)
        n = torch.randint(self.num_steps, (len(start),), device=start.device, generator=generator)
        return self.between(start, end, n, generator), n, end

    @abc.abstractmethod
    def between(self, start: Tensor, end: Tensor, n: Tensor, generator: torch.Generator) -> Tensor:
        """States after n steps from start to end."""

    @abc.abstractmethod
    def losses(self, x: Tensor, n: Tensor, logits: Tensor, end: Tensor) -> Tensor:
        """Of each row [B]."""


class BridgeMatching(Matching):
    """The pinned reference's steps, matched by those to the clean end that the logits weigh."""

    def __init__(self, reference: Reference, kind: str):
        super().__init__(reference, reference.num_steps)
        self.kind = kind

    def between(self, start: Tensor, end: Tensor, n: Tensor, generator: torch.Generator) -> Tensor:
        """Draws of the pinned reference."""
        return self.reference.pinned_sample(start, end, n, generator)

    def losses(self, x: Tensor, n: Tensor, logits: Tensor, end: Tensor) -> Tensor:
        """By kind: "kl", the mean over coordinates, or "mse", the sum over all."""
        if self.kind == "kl":
            return self.reference.step_kl(x, n, logits, end).mean(-1)
        model = self.reference.step(x, n, logits).exp()
        target = self.reference.pinned_step(x, n, end).exp().to(model.dtype)
        return (model - target).square().sum((-2, -1))

    def coupling(self, network: nn.Module, **where: Any) -> NetworkCoupling:
        """The chain of those steps."""
        return NetworkCoupling(network, self.reference, **where)
