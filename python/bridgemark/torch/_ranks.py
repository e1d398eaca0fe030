"""The processes of torchrun that train one model together."""

from __future__ import annotations

import os

import torch
import torch.distributed as distributed
from torch import nn


class Ranks:
    """One process alone, or those of torchrun; the first keeps files and writes lines."""

    def __init__(self, device: torch.device):
        launched = int(os.environ.get("WORLD_SIZE", "1")) > 1 and "RANK" in os.environ
        if launched and distributed.is_available() and not distributed.is_initialized():
            distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        shared = distributed.is_available() and distributed.is_initialized()
        self.count = distributed.get_world_size() if shared else 1
        self.rank = distributed.get_rank() if shared else 0
        self._device = device

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def wrap(self, network: nn.Module) -> nn.Module:
        """What averages gradients over the ranks as they are made."""
        if self.count == 1 or not any(p.requires_grad for p in network.parameters()):
            return network
        on_gpu = self._device.type == "cuda"
        return nn.parallel.DistributedDataParallel(
            network, device_ids=[self._device] if on_gpu else None
        )

    def of_first(self, values: list[float]) -> list[float]:
        """The first rank's numbers, on which all decide alike."""
        if self.count == 1:
            return values
        shared = torch.tensor(values, dtype=torch.float64, device=self._device)
        distributed.broadcast(shared, 0)
        return [float(value) for value in shared]

    def mean(self, value: float) -> float:
        """Over the ranks."""
        if self.count == 1:
            return value
        total = torch.tensor(value, dtype=torch.float64, device=self._device)
        distributed.all_reduce(total)
        return float(total) / self.count

    def wait(self) -> None:
        """Until all are here."""
        if self.count > 1:
            distributed.barrier()
