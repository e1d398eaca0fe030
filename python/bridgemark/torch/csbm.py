"""CSBM and AlphaCSBM for any torch network."""

from __future__ import annotations

from typing import Any, ClassVar

from ._matching import BridgeMatching
from ._solver import ChainSolver
from .coupling import NetworkCoupling


class CSBM(ChainSolver[NetworkCoupling]):
    """Categorical Schrödinger bridge matching (D-IMF) of a network of your own.

    `network(x, n)` takes states x, int64 [B,D], and the steps n done since the start of the chain,
    int64 [B] in 0..num_steps-1, and gives logits [B,D,S] of its clean end. The forward chain leads
    from x0 to x1; the backward one, a copy of the network unless `backward` is given, from x1 to
    x0, and counts its steps from x1. `reference` is a Reference, a pair or pair.reference.
    `options` are those of `bridgemark.torch.Recipe`. `device` is where it trains and draws.

    After `fit` it is a coupling: `sample`, `sample_trajectory`, `log_transition_marginals` and
    `num_steps` are those of the moving average, and `bridgemark.evaluate(pair, model)` scores it;
    `reversed()` is the other direction.
    """

    name: ClassVar[str] = "csbm"

    def _matching(self, direction: str) -> BridgeMatching:
        return BridgeMatching(self._references[direction], self.recipe.loss)


class AlphaCSBM(CSBM):
    """α-CSBM: as CSBM, but each update trains both directions, each on rows of its own.

    After the first iteration the pairs of an update are drawn by the other direction's average as
    it is then. `batch_size` (64) is that of each direction.
    """

    name: ClassVar[str] = "alpha-csbm"
    _both_directions: ClassVar[bool] = True
    _defaults: ClassVar[dict[str, Any]] = {"batch_size": 64}
