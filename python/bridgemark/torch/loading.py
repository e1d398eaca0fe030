"""A run folder read again, whichever solver made it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ._files import read_config
from ._solver import NetworkSolver
from .autoregressive import AutoregressiveBridge
from .cnot import CNOT
from .csbm import CSBM, AlphaCSBM
from .ddsbm import DDSBM
from .flow_matching import FlowMatching

_KINDS: tuple[type[NetworkSolver[Any]], ...] = (
    CSBM,
    AlphaCSBM,
    CNOT,
    DDSBM,
    AutoregressiveBridge,
    FlowMatching,
)


def load(
    folder: str | os.PathLike[str],
    network: nn.Module | None = None,
    device: torch.device | str = "cpu",
    *,
    backward: nn.Module | None = None,
) -> NetworkSolver[Any]:
    """The fitted model of a run folder, of the class that made it: see CSBM.load."""
    solver = read_config(Path(folder) / "config.toml")[""].get("solver")
    kinds = {kind.name: kind for kind in _KINDS}
    return kinds.get(str(solver), CSBM).load(folder, network, device, backward=backward)
