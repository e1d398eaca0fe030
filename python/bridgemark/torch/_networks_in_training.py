"""One direction's network with its optimiser and its moving average."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from ._ranks import Ranks
from .coupling import NetworkCoupling, autocast
from .recipe import Recipe
from .reference import Reference


class TrainedNetwork:
    """What an update changes. `reference` leads from where its chain starts to the clean end."""

    def __init__(
        self, network: nn.Module, reference: Reference, recipe: Recipe, ranks: Ranks, device: Any
    ):
        self.reference, self.recipe, self.device = reference, recipe, device
        self.network = network.to(device).train()
        self.average = copy.deepcopy(self.network).eval().requires_grad_(False)
        self._wrapped = ranks.wrap(self.network)
        trained = [p for p in self.network.parameters() if p.requires_grad]
        self._optimizer = torch.optim.AdamW(
            trained,
            lr=recipe.learning_rate,
            betas=(0.95, 0.99),
            weight_decay=recipe.weight_decay,
        )
        self.count = 0  # updates so far

    @property
    def coupling(self) -> NetworkCoupling:
        """The average's chain, which draws and is kept."""
        return NetworkCoupling(
            self.average, self.reference, device=self.device, precision=self.recipe.precision
        )

    def update(self, start: Tensor, end: Tensor, rate: float, generator: torch.Generator) -> Tensor:
        """Match the pinned reference between pairs [B,D]; returns the loss before it."""
        x, n, end = draw_points(self.reference, start, end, self.recipe.points, generator)
        self.network.train()
        with autocast(self.device, self.recipe.precision):
            logits = self._wrapped(x, n)
        loss = matching_loss(self.reference, self.recipe.loss, x, n, logits, end).mean()
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
        if self.recipe.clip is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
        self._optimizer.step()
        self.count += 1
        self._move_average(self.recipe.ema_at(self.count))
        return loss.detach()

    def losses_of_average(self, x: Tensor, n: Tensor, end: Tensor) -> Tensor:
        """The loss of each row at the average."""
        rows = max(1, (1 << 25) // (x.shape[1] * self.reference.num_categories))
        parts = []
        with torch.no_grad():
            for a, b, c in zip(*(torch.split(part, rows) for part in (x, n, end))):
                with autocast(self.device, self.recipe.precision):
                    logits = self.average(a, b)
                kind = self.recipe.loss
                parts.append(matching_loss(self.reference, kind, a, b, logits, c).double())
        return torch.cat(parts)

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

    def _move_average(self, decay: float) -> None:
        with torch.no_grad():
            ours, theirs = self.average.state_dict(), self.network.state_dict()
            for name, value in ours.items():
                if value.dtype.is_floating_point:
                    value.lerp_(theirs[name].to(value.dtype), 1.0 - decay)
                else:
                    value.copy_(theirs[name])


def draw_points(
    reference: Reference, start: Tensor, end: Tensor, points: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """States x and steps n of the pinned reference, `points` for each pair, with their ends."""
    start, end = start.repeat_interleave(points, 0), end.repeat_interleave(points, 0)
    n = torch.randint(reference.num_steps, (len(start),), device=start.device, generator=generator)
    return reference.pinned_sample(start, end, n, generator), n, end


def matching_loss(
    reference: Reference, kind: str, x: Tensor, n: Tensor, logits: Tensor, end: Tensor
) -> Tensor:
    """Of each row [B]: "kl", the mean over coordinates, or "mse", the sum over all."""
    if kind == "kl":
        return reference.step_kl(x, n, logits, end).mean(-1)
    model = reference.step(x, n, logits).exp()
    target = reference.pinned_step(x, n, end).exp().to(model.dtype)
    return (model - target).square().sum((-2, -1))
