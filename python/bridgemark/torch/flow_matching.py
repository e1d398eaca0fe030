"""Discrete flow matching over the mixture path."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ._matching import Matching
from ._operators import log_add
from ._solver import ChainSolver
from .coupling import ChainCoupling
from .recipe import PlainRecipe, Recipe


class MixtureCoupling(ChainCoupling):
    """Steps along the mixture path: after n of N a coordinate goes with probability 1 / (N - n)
    to a draw of the clean end that the network gives, and stays otherwise.

    This is the flow's own law over a step that sees the network's answer at its start.
    """

    def log_step(self, x: Tensor, n: int, logits: Tensor) -> Tensor:
        """A mixture of the state and the clean end."""
        goes = 1.0 / (self.num_steps - n)
        end = logits.log_softmax(-1)
        if goes == 1.0:
            return end
        stays = torch.full_like(end, -math.inf)
        stays.scatter_(-1, x.unsqueeze(-1), math.log1p(-goes))
        return log_add(end + math.log(goes), stays)


class MixtureMatching(Matching):
    """States whose coordinates are those of the end with probability n / N, else of the start."""

    def between(self, start: Tensor, end: Tensor, n: Tensor, generator: torch.Generator) -> Tensor:
        """Coordinates independent of each other."""
        u = torch.rand(start.shape, dtype=torch.float64, device=start.device, generator=generator)
        return torch.where(u * self.num_steps < n.unsqueeze(-1), end, start)

    def losses(self, x: Tensor, n: Tensor, logits: Tensor, end: Tensor) -> Tensor:
        """Cross-entropy of the clean end, the mean over coordinates."""
        values = logits if logits.dtype == torch.float64 else logits.float()
        law = values.log_softmax(-1)
        return -law.gather(-1, end.unsqueeze(-1)).squeeze(-1).mean(-1)

    def coupling(self, network: nn.Module, **where: Any) -> MixtureCoupling:
        """The steps along the path."""
        return MixtureCoupling(network, self.reference, **where)


class FlowMatching(ChainSolver[MixtureCoupling]):
    """Discrete flow matching of a network of your own, between pairs coupled once.

    `network(x, n)` takes states x, int64 [B,D], and steps done n, int64 [B] in 0..num_steps-1, and
    gives logits [B,D,S] of the clean end, which is what it learns: by cross-entropy, at states on
    the mixture path p_t = (1 - t) δ_x0 + t δ_x1 of each coordinate. `initial` couples the pairs,
    "independent" or "minibatch-ot" (the default), whose cost is -log q_ref(x1|x0). Nothing is
    iterated: the answer is as good a bridge as these pairs are. The backward network learns the
    same from x1 to x0. `reference` is a Reference, a pair or pair.reference; `options` are those of
    `bridgemark.torch.Recipe`, with `updates` for `imf_iterations`, `updates_first` and
    `updates_later`, and without `loss`.

    After `fit` it is a coupling with steps, as CSBM is.
    """

    name: ClassVar[str] = "flow-matching"
    _recipe: ClassVar[type[Recipe]] = PlainRecipe

    def _matching(self, direction: str) -> MixtureMatching:
        return MixtureMatching(self._references[direction], self.num_steps)
