"""Types of _solvers.py: each solver with its own options, so that a wrong one is found early.

A TypedDict has the keys of `bridgemark train SOLVER --set`; a test holds them to the registry.
"""

import os
from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypedDict, TypeVar, overload

import numpy.random
import numpy.typing
from typing_extensions import Self, Unpack

from . import _core

__all__ = [
    "AlphaCSBM",
    "CSBM",
    "DLightSB",
    "DLightSBChain",
    "DLightSBM",
    "FeatureWise",
    "Independent",
    "Oracle",
    "Reference",
    "Sinkhorn",
]

ArrayT = TypeVar("ArrayT")
_Path = str | os.PathLike[str]
_Seed = int | numpy.random.Generator | None
_PairLike = _core.Pair | _Path

class _Fit(TypedDict, total=False):
    seed: _Seed
    folder: _Path | None
    resume: bool
    progress: bool | Callable[[str, int, int, str], object]
    device: str

class _PairFit(_Fit, total=False):
    samples: int
    training_set: int

class _DataFit(_Fit, total=False):
    reference: Literal["gaussian", "uniform"] | numpy.typing.ArrayLike | None
    gamma: float | None
    num_categories: int | None
    total_steps: int | None

class _Training(TypedDict, total=False):
    recipe: Literal["tuned", "paper"]
    batch_size: int
    learning_rate: float
    x0_data: _Path
    x1_data: _Path
    checkpoint_every: float
    log_every: int

class _BridgeTraining(_Training, total=False):
    updates: int
    weight_decay: float
    schedule: Literal["cosine", "constant"]
    average: float
    init: Literal["p1", "p0", "gaussian", "uniform"]
    init_peak: float
    init_noise: float | Literal["auto"]
    holdout: float
    patience: int
    shrinkage: float | Literal["auto"]
    smoothing: float | Literal["auto"]
    refit: Literal["yes", "no"]

class _FeatureWiseOptions(TypedDict, total=False):
    marginal_samples: int
    pseudo_count: float
    imf_steps: int
    tolerance: float
    max_iterations: int
    x0_data: _Path
    x1_data: _Path

class _SinkhornOptions(TypedDict, total=False):
    rows: int
    smoothing: int | Literal["auto"]
    holdout: float
    refit: Literal["yes", "no"]
    tolerance: float
    max_iterations: int

class _DLightSBOptions(_BridgeTraining, total=False):
    components: int | Literal["auto"]
    entropy: float

class _DLightSBMOptions(_DLightSBOptions, total=False):
    num_steps: int
    loss: Literal["kl", "mse"]
    coupling: Literal["independent", "minibatch"]
    step_draws: Literal["even", "ends"]

class _DLightSBChainOptions(_BridgeTraining, total=False):
    states: int | Literal["auto"]
    init_switch: float

class _CSBMOptions(_Training, total=False):
    num_steps: int
    loss: Literal["kl", "mse"]
    hidden: int | str | list[int] | tuple[int, ...]
    input: Literal["numbers", "embedding"]
    embedding_size: int
    last_step: Literal["softmax", "reference"]
    initial: Literal["independent", "reference", "feature-wise", "minibatch-ot"]
    initial_pairs: int
    initial_batch: int
    imf_iterations: int
    updates_first: int
    updates_later: int
    points: int
    schedule: Literal["constant", "cosine", "restarts"]
    ema: float
    weight_decay: float | Literal["auto"]
    holdout: float
    patience: int
    refit: Literal["yes", "no"]

class _FeatureWiseFit(_FeatureWiseOptions, _PairFit, total=False): ...
class _FeatureWiseDataFit(_FeatureWiseOptions, _DataFit, total=False): ...
class _SinkhornFit(_SinkhornOptions, _PairFit, total=False): ...
class _SinkhornDataFit(_SinkhornOptions, _DataFit, total=False): ...
class _DLightSBFit(_DLightSBOptions, _PairFit, total=False): ...
class _DLightSBDataFit(_DLightSBOptions, _DataFit, total=False): ...
class _DLightSBMFit(_DLightSBMOptions, _PairFit, total=False): ...
class _DLightSBMDataFit(_DLightSBMOptions, _DataFit, total=False): ...
class _DLightSBChainFit(_DLightSBChainOptions, _PairFit, total=False): ...
class _DLightSBChainDataFit(_DLightSBChainOptions, _DataFit, total=False): ...
class _CSBMFit(_CSBMOptions, _PairFit, total=False): ...
class _CSBMDataFit(_CSBMOptions, _DataFit, total=False): ...

class Solver:
    name: ClassVar[str]
    options: dict[str, Any]
    def __init__(self, **options: Any) -> None: ...
    def fit(self, *ends: Any, **options: Any) -> Self: ...
    @property
    def coupling(self) -> _core.Coupling: ...
    @property
    def history(self) -> dict[str, numpy.typing.NDArray[Any]]: ...
    def sample(self, x0: ArrayT, seed: _Seed = None) -> ArrayT: ...
    def sample_trajectory(
        self, x0: ArrayT, num_steps: int | None = None, seed: _Seed = None
    ) -> ArrayT: ...
    def log_conditional(self, x0: ArrayT, x1: ArrayT) -> ArrayT: ...
    def log_marginals(self, x0: ArrayT) -> ArrayT: ...
    def log_transition_marginals(self, x: ArrayT, num_steps: int, n: int) -> ArrayT: ...
    def reversed(self) -> _core.Coupling: ...
    def save(self, folder: _Path) -> None: ...
    @classmethod
    def load(cls, folder: _Path, pair: _PairLike | None = None) -> Self: ...
    def __eq__(self, other: object) -> bool: ...

class Oracle(Solver):
    def __init__(self) -> None: ...
    def fit(self, pair: _PairLike, /, **options: Unpack[_Fit]) -> Self: ...

class Independent(Solver):
    def __init__(self) -> None: ...
    @overload
    def fit(self, pair: _PairLike, /, **options: Unpack[_PairFit]) -> Self: ...
    @overload
    def fit(self, x0: Any, x1: Any, /, **options: Unpack[_DataFit]) -> Self: ...

class Reference(Solver):
    def __init__(self) -> None: ...
    @overload
    def fit(self, pair: _PairLike, /, **options: Unpack[_PairFit]) -> Self: ...
    @overload
    def fit(self, x0: Any, x1: Any, /, **options: Unpack[_DataFit]) -> Self: ...

class FeatureWise(Solver):
    def __init__(self, **options: Unpack[_FeatureWiseOptions]) -> None: ...
    @overload
    def fit(self, pair: _PairLike, /, **options: Unpack[_FeatureWiseFit]) -> Self: ...
    @overload
    def fit(self, x0: Any, x1: Any, /, **options: Unpack[_FeatureWiseDataFit]) -> Self: ...

class Sinkhorn(Solver):
    def __init__(self, **options: Unpack[_SinkhornOptions]) -> None: ...
    @overload
    def fit(self, pair: _PairLike, /, **options: Unpack[_SinkhornFit]) -> Self: ...
    @overload
    def fit(self, x0: Any, x1: Any, /, **options: Unpack[_SinkhornDataFit]) -> Self: ...

class DLightSB(Solver):
    def __init__(self, **options: Unpack[_DLightSBOptions]) -> None: ...
    @overload
    def fit(self, pair: _PairLike, /, **options: Unpack[_DLightSBFit]) -> Self: ...
    @overload
    def fit(self, x0: Any, x1: Any, /, **options: Unpack[_DLightSBDataFit]) -> Self: ...

class DLightSBM(Solver):
    def __init__(self, **options: Unpack[_DLightSBMOptions]) -> None: ...
    @overload
    def fit(self, pair: _PairLike, /, **options: Unpack[_DLightSBMFit]) -> Self: ...
    @overload
    def fit(self, x0: Any, x1: Any, /, **options: Unpack[_DLightSBMDataFit]) -> Self: ...

class DLightSBChain(Solver):
    def __init__(self, **options: Unpack[_DLightSBChainOptions]) -> None: ...
    @overload
    def fit(self, pair: _PairLike, /, **options: Unpack[_DLightSBChainFit]) -> Self: ...
    @overload
    def fit(self, x0: Any, x1: Any, /, **options: Unpack[_DLightSBChainDataFit]) -> Self: ...

class CSBM(Solver):
    def __init__(self, **options: Unpack[_CSBMOptions]) -> None: ...
    @overload
    def fit(self, pair: _PairLike, /, **options: Unpack[_CSBMFit]) -> Self: ...
    @overload
    def fit(self, x0: Any, x1: Any, /, **options: Unpack[_CSBMDataFit]) -> Self: ...

class AlphaCSBM(Solver):
    def __init__(self, **options: Unpack[_CSBMOptions]) -> None: ...
    @overload
    def fit(self, pair: _PairLike, /, **options: Unpack[_CSBMFit]) -> Self: ...
    @overload
    def fit(self, x0: Any, x1: Any, /, **options: Unpack[_CSBMDataFit]) -> Self: ...

def make_solver(name: str, **options: Any) -> Solver: ...
def load_solver(folder: _Path, pair: _PairLike | None = None) -> Solver: ...
