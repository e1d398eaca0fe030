"""CNOT for any torch network: a plan against a potential."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ._data import Data
from ._matching import Answer
from ._networks_in_training import TrainedNetwork
from ._operators import draw
from ._ranks import Ranks
from ._solver import NetworkSolver
from .coupling import Drawing, autocast, like
from .recipe import FORWARD, PlainRecipe, Recipe, Stage
from .reference import Reference


class PlanCoupling(Drawing):
    """q(x1|x0) of one call of a network, whose coordinates are independent of each other."""

    def log_marginals(self, x0: Any) -> Any:
        """log q(x1^d = s | x0) for x0 [B,D]: float64 [B,D,S]."""
        with torch.no_grad():
            parts = [self._law(part) for part in self.blocks(self.states(x0))]
        return like(x0, torch.cat(parts))

    def log_conditional(self, x0: Any, x1: Any) -> Any:
        """log q(x1|x0) for the rows of x0 and x1 [B,D], exact: float64 [B]."""
        starts, ends = self.blocks(self.states(x0)), self.blocks(self.states(x1))
        with torch.no_grad():
            return like(x0, torch.cat([_log_prob(self._law(a), b) for a, b in zip(starts, ends)]))

    def draw_ends(self, x0: Tensor, generator: torch.Generator) -> Tensor:
        """One call for all coordinates."""
        with torch.no_grad():
            return torch.cat([draw(self._law(part), generator) for part in self.blocks(x0)])

    def _law(self, x0: Tensor) -> Tensor:
        return self.logits(x0, 0).double().log_softmax(-1)


class Plan(Answer):
    """What the network of a plan answers."""

    def coupling(self, network: nn.Module, **where: Any) -> PlanCoupling:
        """Its one step."""
        return PlanCoupling(network, self.reference, **where)


def plan_loss(law: Tensor, x1: Tensor, advantage: Tensor, epsilon: float) -> Tensor:
    """Its gradient, over draws x1 of the plan `law` [B,D,S], is that of what the plan lowers:

    E advantage(x1) - epsilon * entropy, by the score function, without a baseline.
    """
    entropy = -(law.exp() * law).sum((-2, -1))
    loss: Tensor = (advantage * _log_prob(law, x1)).mean() - epsilon * entropy.mean()
    return loss


def potential_loss(
    potential: nn.Module, drawn: Tensor, data: Tensor, penalty: float, generator: torch.Generator
) -> Tensor:
    """Mean over draws less that over data, with `penalty` on gradients of a norm other than 1."""
    of_drawn, of_data = (_embedded(potential, x) for x in (drawn, data))
    loss: Tensor = potential(of_drawn).mean() - potential(of_data).mean()
    if penalty == 0.0:
        return loss
    share = torch.rand((len(data), 1, 1), device=data.device, generator=generator)
    between = share * of_data + (1.0 - share) * of_drawn
    (gradient,) = torch.autograd.grad(potential(between).sum(), between, create_graph=True)
    norms: Tensor = gradient.flatten(1).norm(dim=1)
    return loss + penalty * (norms - 1.0).square().mean()


def _embedded(potential: nn.Module, x: Tensor) -> Tensor:
    embedded: Tensor = potential.embed(x)  # type: ignore[operator,unused-ignore]
    return embedded


def _log_prob(law: Tensor, x1: Tensor) -> Tensor:
    return law.gather(-1, x1.unsqueeze(-1)).squeeze(-1).sum(-1)


@dataclasses.dataclass(frozen=True)
class CNOTRecipe(PlainRecipe):
    """Options of CNOT; the defaults are those of the published code.

    Of `plan_updates` + 1 updates the last trains the potential, at `potential_rate`; the others
    train the plan, at `learning_rate`. `epsilon` weighs its entropy: 1 is the bridge's own.
    `penalty` on the potential's gradients is dropped after its first `penalty_until` updates.
    """

    updates: int = 220_000
    batch_size: int = 256
    schedule: str = "constant"
    weight_decay: float = 0.0
    clip: float | None = 1.0
    ema: float = 0.0
    initial: str = "independent"
    holdout: float = 0.0
    epsilon: float = 1.0
    plan_updates: int = 10
    potential_rate: float = 1e-4
    penalty: float = 10.0
    penalty_until: int = 5000

    _without: ClassVar[tuple[str, ...]] = (
        *PlainRecipe._without, "points", "initial", "initial_pairs", "initial_batch", "holdout",
        "patience", "refit",
    )  # fmt: skip

    def check(self) -> None:
        """As that of Recipe."""
        super().check()
        self._require_count("plan_updates")
        self._require(0.0 <= self.epsilon < math.inf, "epsilon", "at least 0")
        self._require(0.0 < self.potential_rate < math.inf, "potential_rate", "positive")
        self._require(0.0 <= self.penalty < math.inf, "penalty", "at least 0")
        self._require(self.penalty_until >= 0, "penalty_until", "at least 0")


class Adversaries(TrainedNetwork):
    """A plan and a potential, of which each update trains one."""

    def __init__(self, networks: nn.ModuleDict, answer: Answer, recipe: CNOTRecipe, *others: Any):
        self._own = recipe
        super().__init__(networks, answer, recipe, *others)

    @property
    def coupling(self) -> Drawing:
        """Of the plan alone."""
        return self.answer.coupling(self._part("plan", self.average), **self._where)

    def update(self, start: Tensor, end: Tensor, rate: float, generator: torch.Generator) -> Tensor:
        """Rows of both ends that need not be pairs; the loss is of the one that is trained."""
        recipe, (plan, potential) = self._own, map(self._part, ("plan", "potential"))
        self.network.train()
        cycle, step = divmod(self.count, recipe.plan_updates + 1)
        on_potential = step == recipe.plan_updates
        with torch.set_grad_enabled(not on_potential), autocast(self.device, recipe.precision):
            logits = plan(start, torch.zeros_like(start[:, 0]))
        law = logits.float().log_softmax(-1)
        drawn = draw(law.detach(), generator)
        if on_potential:
            penalty = recipe.penalty if cycle < recipe.penalty_until else 0.0
            loss = potential_loss(potential, drawn, end, penalty, generator)
            rate *= recipe.potential_rate / recipe.learning_rate
        else:
            with torch.no_grad():
                value = potential(_embedded(potential, drawn))
            cost = -self.answer.reference.log_prob(start, drawn).sum(-1)
            loss = plan_loss(law, drawn, (cost - value).to(law.dtype), recipe.epsilon)
        self._descend(loss, rate, recipe.clip)
        return loss.detach()

    def _make_optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        # The parameters that an update does not train have no gradient, and are left alone.
        return torch.optim.Adam(
            parameters, betas=(0.5, 0.999), weight_decay=self.recipe.weight_decay
        )

    def _part(self, name: str, of: nn.Module | None = None) -> nn.Module:
        networks = self.network if of is None else of
        assert isinstance(networks, nn.ModuleDict)
        return networks[name]


class CNOT(NetworkSolver[PlanCoupling]):
    """Categorical neural optimal transport: a plan of one step, trained against a potential.

    `network(x0, n)`, n all 0, gives logits [B,D,S] of x1, whose coordinates are independent of each
    other given x0. `potential` gives a number for an embedded state, as `networks.Potential` does;
    `fit` needs it. The plan lowers E[-log q_ref(x1|x0) - f(x1)] - epsilon * entropy, the potential
    f raises E f(x1) of the data over that of the plan's draws. `reference` is a Reference, a pair
    or pair.reference; `options` are those of `bridgemark.torch.cnot.CNOTRecipe`. It trains in one
    process, without rows held out, and from x0 to x1 alone.

    After `fit` it is a coupling with exact `log_conditional` and `log_marginals`. Where the bridge
    couples coordinates given x0, no plan of this kind is the bridge.
    """

    name: ClassVar[str] = "cnot"
    _recipe: ClassVar[type[Recipe]] = CNOTRecipe

    def __init__(
        self,
        network: nn.Module,
        reference: Any,
        *,
        potential: nn.Module | None = None,
        device: torch.device | str = "cpu",
        **options: Any,
    ):
        networks = {FORWARD: network, **({} if potential is None else {"potential": potential})}
        super().__init__(networks, Reference.of(reference, 1), device, options)

    def log_marginals(self, x0: Any) -> Any:
        """log q(x1^d = s | x0) for x0 [B,D]: float64 [B,D,S]."""
        return self.coupling.log_marginals(x0)

    def log_conditional(self, x0: Any, x1: Any) -> Any:
        """log q(x1|x0) for the rows of x0 and x1 [B,D], exact: float64 [B]."""
        return self.coupling.log_conditional(x0, x1)

    def _check_network(self, data: Data) -> None:
        if "potential" not in self.networks:
            raise ValueError("[torch] potential must be a torch.nn.Module for fit, got None")
        super()._check_network(data)

    def _answer(self, direction: str) -> Plan:
        return Plan(self.reference, 1)

    def _stages(self) -> list[Stage]:
        return [Stage(1, (FORWARD,))]

    def _trained(self, ranks: Ranks) -> dict[str, TrainedNetwork]:
        assert isinstance(self.recipe, CNOTRecipe)
        if ranks.count > 1:
            raise ValueError(f"[torch] cnot must train in one process, got {ranks.count} ranks")
        both = nn.ModuleDict(
            {"plan": self.networks[FORWARD], "potential": self.networks["potential"]}
        )
        answer = self._answer(FORWARD)
        return {FORWARD: Adversaries(both, answer, self.recipe, ranks, self.device)}
