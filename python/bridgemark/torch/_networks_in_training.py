"""One direction's network with its optimiser and its moving average."""

from __future__ import annotations

import abc
import copy
from typing import Any

import torch
from torch import Tensor, nn

from ._matching import Answer, Matching
from ._ranks import Ranks
from .coupling import Drawing, autocast
from .recipe import Recipe


class TrainedNetwork(abc.ABC):
    """What an update changes, and the moving average that is kept."""

    def __init__(
        self,
        network: nn.Module,
        answer: Answer,
        recipe: Recipe,
        ranks: Ranks,
        device: torch.device,
    ):
        self.answer, self.recipe, self.device = answer, recipe, device
        self.network = network.to(device).train()
        self.average = copy.deepcopy(self.network).eval().requires_grad_(False)
        self._wrapped = ranks.wrap(self.network)
        self._optimizer = self._make_optimizer(
            [p for p in self.network.parameters() if p.requires_grad]
        )
        self.count = 0  # updates so far
        both = list(zip(self.average.state_dict().values(), self.network.state_dict().values()))
        pairs = [pair for pair in both if pair[0].dtype.is_floating_point]
        self._numbers = [ours for ours, _ in pairs], [theirs for _, theirs in pairs]
        self._others = [pair for pair in both if not pair[0].dtype.is_floating_point]

    @property
    def coupling(self) -> Drawing:
        """What the average draws, which is kept."""
        return self.answer.coupling(self.average, **self._where)

    @property
    def chain(self) -> Drawing:
        """What the other direction's pairs are drawn by."""
        return self.answer.chain(self.average, **self._where)

    @property
    def _where(self) -> dict[str, Any]:
        return {"device": self.device, "precision": self.recipe.precision}

    @abc.abstractmethod
    def update(self, start: Tensor, end: Tensor, rate: float, generator: torch.Generator) -> Tensor:
        """Train on pairs [B,D]; returns the loss before it."""

    def is_finite(self) -> bool:
        """Whether every parameter is a number."""
        return all(bool(torch.isfinite(p).all()) for p in self.network.parameters())

    def state(self) -> dict[str, Any]:
        """For a checkpoint; copies nothing."""
        return {
            "network": self.network.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "count": self.count,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Back to what `state` was."""
        self.network.load_state_dict(state["network"])
        self.average.load_state_dict(state["average"])
        self._optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        self.count = state["count"]

    def _make_optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        # One launch in place of a dozen, where torch has that (since 2.0).
        has_fused = self.device.type == "cuda" and hasattr(torch, "compile")
        return torch.optim.AdamW(
            parameters,
            lr=self.recipe.learning_rate,
            betas=(0.95, 0.99),
            weight_decay=self.recipe.weight_decay,
            **({"fused": True} if has_fused else {}),
        )

    def _descend(self, loss: Tensor, rate: float, clip: float | None) -> None:
        """A step of the optimiser, and one of the average."""
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
        if clip is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), clip)
        self._optimizer.step()
        self.count += 1
        decay = self.recipe.ema_at(self.count)
        with torch.no_grad():
            _lerp(*self._numbers, 1.0 - decay)
            for ours, theirs in self._others:
                ours.copy_(theirs)


def _lerp(ours: list[Tensor], theirs: list[Tensor], share: float) -> None:
    """Moves ours towards theirs, in one launch where torch has that (since 2.0)."""
    together = getattr(torch, "_foreach_lerp_", None)
    if together is not None:
        together(ours, theirs, share)
        return
    for value, goal in zip(ours, theirs):
        value.lerp_(goal, share)


class MatchedNetwork(TrainedNetwork):
    """Trained by the losses of its matching at points between pairs."""

    def __init__(self, network: nn.Module, matching: Matching, *others: Any):
        super().__init__(network, matching, *others)
        self.matching = matching

    def update(self, start: Tensor, end: Tensor, rate: float, generator: torch.Generator) -> Tensor:
        """Match at `points` of the recipe between each pair."""
        x, n, end = self.matching.draw_points(start, end, self.recipe.points, generator)
        self.network.train()
        with autocast(self.device, self.recipe.precision):
            logits = self._wrapped(x, n)
        loss = self.matching.losses(x, n, logits, end).mean()
        self._descend(loss, rate, self.recipe.clip)
        return loss.detach()

    def losses_of_average(self, x: Tensor, n: Tensor, end: Tensor) -> Tensor:
        """The loss of each row at the average."""
        rows = max(1, (1 << 25) // (x.shape[1] * self.matching.reference.num_categories))
        parts = []
        with torch.no_grad():
            for a, b, c in zip(*(torch.split(part, rows) for part in (x, n, end))):
                with autocast(self.device, self.recipe.precision):
                    logits = self.average(a, b)
                parts.append(self.matching.losses(a, b, logits, c).double())
        return torch.cat(parts)
