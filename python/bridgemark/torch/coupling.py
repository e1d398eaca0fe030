"""A network over a reference as a coupling: draws, trajectories and the law of each step."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ._seeds import make_generator
from .reference import Reference

_MOST_ENTRIES = 1 << 25  # of the logits of a block of rows


def autocast(device: torch.device, precision: str) -> Any:
    """Mixed precision of a network's pass where it is asked for."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


class NetworkCoupling:
    """The Markov chain of a network: what `bridgemark.evaluate` scores, joint KL included.

    `network(x, n)` takes states x, int64 [B,D], and steps done n, int64 [B] in 0..num_steps-1, and
    gives logits [B,D,S] of the clean end. Coordinates of a step are independent of each other given
    the state before it. States go in as an array of any library; NumPy is answered in NumPy, all
    else in torch on the network's device.
    """

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
        self.num_steps = reference.num_steps
        self.device = torch.device(device)
        self.precision = precision

    def sample(self, x0: Any, seed: int | None = None) -> Any:
        """Draw x1 given each row of x0 [B,D]: int64 [B,D]."""
        return _like(x0, self.walk(self._states(x0), self._generator(seed))[-1])

    def sample_trajectory(
        self, x0: Any, num_steps: int | None = None, seed: int | None = None
    ) -> Any:
        """Draw whole paths from x0 [B,D]: int64 [B,num_steps+1,D], on the network's own steps."""
        self._require_steps(self.num_steps if num_steps is None else num_steps)
        states = self.walk(self._states(x0), self._generator(seed), whole=True)
        return _like(x0, torch.stack(states, 1))

    def log_transition_marginals(self, x: Any, num_steps: int, n: int) -> Any:
        """log q(x_{n+1}^d = s | x_n = x) for x [B,D]: [B,D,S]."""
        self._require_steps(num_steps)
        with torch.no_grad():
            parts = [
                self.reference.step(part, n, self._logits(part, n).double())
                for part in self._blocks(self._states(x))
            ]
        return _like(x, torch.cat(parts))

    def walk(self, x0: Tensor, generator: torch.Generator, whole: bool = False) -> list[Tensor]:
        """States after each step from x0 on the device, or the last alone."""
        paths = []
        with torch.no_grad():
            for x in self._blocks(x0):
                path = [x]
                for n in range(self.num_steps):
                    x = self.reference.transition_sample(x, n, self._logits(x, n), generator)
                    path = [*path, x] if whole else [x]
                paths.append(path)
        return [torch.cat(states) for states in zip(*paths)]

    def _logits(self, x: Tensor, n: int) -> Tensor:
        steps = torch.full((len(x),), n, dtype=torch.int64, device=x.device)
        with autocast(self.device, self.precision):
            logits: Tensor = self.network(x, steps)
        return logits

    def _blocks(self, x: Tensor) -> tuple[Tensor, ...]:
        rows = max(1, _MOST_ENTRIES // (x.shape[1] * self.reference.num_categories))
        return torch.split(x, rows)

    def _states(self, x: Any) -> Tensor:
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

    def _require_steps(self, num_steps: int) -> None:
        if num_steps != self.num_steps:
            raise ValueError(
                f"[torch] num_steps must be that of the network, {self.num_steps}, got {num_steps}"
            )


def _like(given: Any, answer: Tensor) -> Any:
    return answer.cpu().numpy() if isinstance(given, np.ndarray) else answer
