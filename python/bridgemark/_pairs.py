"""Pairs of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._arrays import to_numpy

_DEFAULT_DIM = 2
_DEFAULT_CATEGORIES = 50


def _doubles(name: str, array: Any, shape: str) -> np.ndarray:
    values = to_numpy(array, name)
    if values.dtype.kind not in "fiu" or values.ndim != shape.count(",") + 1:
        raise ValueError(
            f"[pair] {name} must be an array {shape} of numbers, "
            f"got shape {values.shape} of {values.dtype}"
        )
    return np.ascontiguousarray(values, dtype=np.float64)


def _agree(name: str, given: int | None, found: list[int], default: int) -> int:
    sizes = {size for size in (given, *found) if size is not None}
    if len(sizes) > 1:
        raise ValueError(f"[pair] {name} must be the same in all arguments, got {sorted(sizes)}")
    return sizes.pop() if sizes else default


def build_pair(
    *,
    source: Any = "gaussian",
    reference: Any = "gaussian",
    dim: int | None = None,
    num_categories: int | None = None,
    gamma: float = 0.02,
    total_steps: int = 128,
    num_components: int = 4,
    family: str = "sphere",
    sigma: float = 1.5,
    radius: float = 5.0,
    min_distance: float = 10.0,
    log_beta: Any = None,
    log_cores: Any = None,
    name: str = "custom",
    seed: int = 0,
    reverse: bool = False,
) -> _core.Pair:
    """A pair of your own, whose bridge is as exact as a preset's.

    `source` is p0: 'gaussian', 'uniform', a pmf [D,S] of independent coordinates (floats), or
    observed states [n,D] (integers), which are drawn alike.
    `reference` is 'gaussian' or 'uniform' with stochasticity `gamma`, or a matrix [S,S] of the
    probabilities of one of `total_steps` elementary steps, strictly positive.
    The potential decides p1: `num_components` discretised Gaussians of width `sigma` categories
    around means drawn with `seed`, by `family`: 'sphere' puts them on a sphere of `radius`,
    'spread' on whole numbers 5..S-6 at least `min_distance` categories apart; or your own
    `log_beta` [K] and `log_cores` [D,S,K].
    `dim` and `num_categories` follow from the arrays where one of them says them; states need
    num_categories. Without arrays they are 2 and 50.
    A reference that moves less than 0.1 categories over all steps is warned of.
    """
    dims: list[int] = []
    sizes: list[int] = []
    source_pmf = source_states = reference_matrix = None
    if not isinstance(source, str):
        source_array = to_numpy(source, "source")
        if source_array.ndim != 2:
            raise ValueError(
                "[pair] source must be gaussian, uniform, a pmf [D,S] or states [n,D], "
                f"got shape {source_array.shape}"
            )
        if source_array.dtype.kind == "f":
            source_pmf = _doubles("source", source_array, "[D,S]")
            dims.append(source_pmf.shape[0])
            sizes.append(source_pmf.shape[1])
        else:
            source_states = source_array
            dims.append(source_states.shape[1])
    if not isinstance(reference, str):
        reference_matrix = _doubles("reference", reference, "[S,S]")
        sizes.append(reference_matrix.shape[0])
    if (log_beta is None) != (log_cores is None):
        raise ValueError("[pair] log_beta and log_cores must be given together, got one of them")
    if log_cores is not None:
        log_beta = _doubles("log_beta", log_beta, "[K]")
        log_cores = _doubles("log_cores", log_cores, "[D,S,K]")
        dims.append(log_cores.shape[0])
        sizes.append(log_cores.shape[1])
        num_components = log_cores.shape[2]
    if source_states is not None and num_categories is None and not sizes:
        raise ValueError("[pair] num_categories must be given with a source of states, got none")
    return _core.build_pair(
        name=name,
        dim=_agree("dim", dim, dims, _DEFAULT_DIM),
        num_categories=_agree("num_categories", num_categories, sizes, _DEFAULT_CATEGORIES),
        num_components=num_components,
        reference=reference if isinstance(reference, str) else "matrix",
        reference_matrix=reference_matrix,
        gamma=gamma,
        total_steps=total_steps,
        family=family,
        sigma=sigma,
        radius=radius,
        min_distance=min_distance,
        source=source if isinstance(source, str) else "",
        source_pmf=source_pmf,
        source_states=source_states,
        log_beta=log_beta,
        log_cores=log_cores,
        seed=seed,
        reverse=reverse,
    )
