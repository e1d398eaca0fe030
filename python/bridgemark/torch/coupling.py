"""Networks as couplings: draws, trajectories and the law of each step."""

from __future__ import annotations

import abc
import secrets
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ._operators import draw
from ._seeds import make_generator
from .reference import Reference

_MOST_ENTRIES = 1 << 25  # of the logits of a block of rows


def autocast(device: torch.device, precision: str) -> Any:
    """Mixed precision of a network's pass where it is asked for."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


class Drawing(abc.ABC):
    """A network that draws x1 given x0. States go in as an array of any library; NumPy is answered
    in NumPy, all else in torch on the network's device."""

    def __init__(
        self,
        network: nn.Module,
        reference: Reference,
        *,
        device: torch.device | str = "cpu",
        precision: str = "float32",
    ):
        """The network as it is: it is not copied, moved or put into another mode."""
        self.network = network
        self.reference = reference
        self.device = torch.device(device)
        self.precision = precision

    def sample(self, x0: Any, seed: int | None = None) -> Any:
        """Draw x1 given each row of x0 [B,D]: int64 [B,D]."""
        return like(x0, self.draw_ends(self.states(x0), self._generator(seed)))

    @abc.abstractmethod
    def draw_ends(self, x0: Tensor, generator: torch.Generator) -> Tensor:
        """x1 given x0, both on the device."""

    def logits(self, x: Tensor, n: int | Tensor) -> Tensor:
        """The network's answer after n steps."""
        steps = n if isinstance(n, Tensor) else torch.full_like(x[:, 0], n)
        with autocast(self.device, self.precision):
            logits: Tensor = self.network(x, steps)
        return logits

    def blocks(self, x: Tensor) -> tuple[Tensor, ...]:
        """Rows that the network is asked about at once."""
        rows = max(1, _MOST_ENTRIES // (x.shape[1] * self.reference.num_categories))
        return torch.split(x, rows)

    def states(self, x: Any) -> Tensor:
        """Of any library, on the device. Raises ValueError for what are none."""
        given = x if isinstance(x, Tensor) else torch.as_tensor(np.asarray(x))
        if given.dim() != 2 or given.dtype.is_floating_point or given.dtype == torch.bool:
            raise ValueError(
                "[torch] states must be integers [B,D], "
                f"got shape {list(given.shape)} of {given.dtype}"
            )
        return given.to(self.device, torch.int64)

    def _generator(self, seed: int | None) -> torch.Generator:
        drawn = secrets.randbits(62) if seed is None else int(seed)
        return make_generator(self.device, drawn, "sample")


class ChainCoupling(Drawing):
    """A network that is asked at each of num_steps steps from x0 to x1.

    Coordinates of a step are independent of each other given the state before it.
    """

    def __init__(self, network: nn.Module, reference: Reference, **others: Any):
        super().__init__(network, reference, **others)
        self.num_steps = reference.num_steps

    @abc.abstractmethod
    def log_step(self, x: Tensor, n: int, logits: Tensor) -> Tensor:
        """log q(x_{n+1}^d = s | x_n = x): [B,D,S], in the type of the logits."""

    def sample_trajectory(
        self, x0: Any, num_steps: int | None = None, seed: int | None = None
    ) -> Any:
        """Draw whole paths from x0 [B,D]: int64 [B,num_steps+1,D], on the network's own steps."""
        self._require_steps(self.num_steps if num_steps is None else num_steps)
        paths = self.walk(self.states(x0), self._generator(seed), whole=True)
        return like(x0, torch.stack(paths, 1))

    def log_transition_marginals(self, x: Any, num_steps: int, n: int) -> Any:
        """log q(x_{n+1}^d = s | x_n = x) for x [B,D]: [B,D,S]."""
        self._require_steps(num_steps)
        with torch.no_grad():
            parts = [
                self.log_step(part, n, self.logits(part, n).double())
                for part in self.blocks(self.states(x))
            ]
        return like(x, torch.cat(parts))

    def walk(self, x0: Tensor, generator: torch.Generator, whole: bool = False) -> list[Tensor]:
        """States after each step from x0 on the device, or the last alone."""
        paths = []
        with torch.no_grad():
            for x in self.blocks(x0):
                path = [x]
                for n in range(self.num_steps):
                    x = draw(self.log_step(x, n, self.logits(x, n)), generator)
                    path = [*path, x] if whole else [x]
                paths.append(path)
        return [torch.cat(states) for states in zip(*paths)]

    def draw_ends(self, x0: Tensor, generator: torch.Generator) -> Tensor:
        """The last states of a walk."""
        return self.walk(x0, generator)[-1]

    def _require_steps(self, num_steps: int) -> None:
        if num_steps != self.num_steps:
            raise ValueError(
                f"[torch] num_steps must be that of the network, {self.num_steps}, got {num_steps}"
            )


class NetworkCoupling(ChainCoupling):
    """The Markov chain of a network: what `bridgemark.evaluate` scores, joint KL included.

    `network(x, n)` takes states x, int64 [B,D], and steps done n, int64 [B] in 0..num_steps-1, and
    gives logits [B,D,S] of the clean end. Coordinates of a step are independent of each other given
    the state before it. States go in as an array of any library; NumPy is answered in NumPy, all
    else in torch on the network's device.
    """

    def log_step(self, x: Tensor, n: int, logits: Tensor) -> Tensor:
        """The reference's step to the clean end that the logits weigh."""
        return self.reference.step(x, n, logits)


def like(given: Any, answer: Tensor) -> Any:
    """The answer in NumPy where that was given."""
    return answer.cpu().numpy() if isinstance(given, np.ndarray) else answer
