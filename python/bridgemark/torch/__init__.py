"""Schrödinger bridges of torch networks: references, solvers for any nn.Module, networks.

    import bridgemark as bm
    from bridgemark.torch import CSBM, Reference, networks

    pair = bm.load("d16-gaussian-0.02-spread")
    network = networks.MLP(pair.dim, pair.num_categories, num_steps=16)
    model = CSBM(network, pair.reference, num_steps=16).fit(pair)
    print(bm.evaluate(pair, model))

Needs torch (`pip install bridgemark[torch]`), which `import bridgemark` alone does not.
"""

from . import networks
from .autoregressive import AutoregressiveBridge
from .cnot import CNOT
from .continuous import ContinuousReference
from .coupling import NetworkCoupling
from .csbm import CSBM, AlphaCSBM
from .ddsbm import DDSBM
from .flow_matching import FlowMatching
from .loading import load
from .recipe import Recipe
from .reference import Reference

__all__ = [
    "AlphaCSBM",
    "AutoregressiveBridge",
    "CNOT",
    "CSBM",
    "ContinuousReference",
    "DDSBM",
    "FlowMatching",
    "NetworkCoupling",
    "Recipe",
    "Reference",
    "load",
    "networks",
]
