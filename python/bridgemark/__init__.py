"""The benchmark for Schrödinger bridges and entropic optimal transport on discrete spaces.

    import bridgemark as bm

    pair = bm.load("d2-gaussian-0.02")
    x0, x1 = pair.sample_x0(512, seed=1), pair.sample_x1(512, seed=2)  # unpaired: to train on
    y = pair.sample_conditional(x0, seed=3)                            # the truth
    result = bm.evaluate(pair, my_solver)                              # any callable x0 -> x1
    result = bm.evaluate(pair, bm.fit("feature-wise", pair))

States are int32 NumPy arrays [B,D] with categories 0..S-1; log-probabilities are float64. Bad
arguments raise ValueError, unreadable files OSError. Native code runs on OMP_NUM_THREADS threads and
gives the same result for any number of them.
"""

from ._core import (
    Coupling,
    Pair,
    evaluate,
    fit,
    load,
    presets,
    solvers,
)
from ._core import version as __version__

__all__ = [
    "Coupling",
    "Pair",
    "__version__",
    "evaluate",
    "fit",
    "load",
    "presets",
    "solvers",
]
