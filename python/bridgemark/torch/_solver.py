"""What all solvers of networks are: fit, run folders, the couplings that a training made."""

from __future__ import annotations

import abc
import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

import torch
from torch import nn

from . import networks as _networks
from ._data import Data, read_data
from ._files import (
    Checkpoint,
    config_text,
    read_config,
    read_tensors,
    write_atomically,
    write_tensors,
)
from ._matching import Answer, Matching
from ._networks_in_training import MatchedNetwork, TrainedNetwork
from ._ranks import Ranks
from ._training import Training
from .coupling import ChainCoupling, Drawing
from .recipe import BACKWARD, FORWARD, Recipe, Stage, stages_of
from .reference import Reference

CouplingT = TypeVar("CouplingT", bound=Drawing)
ChainT = TypeVar("ChainT", bound=ChainCoupling)
SolverT = TypeVar("SolverT", bound="NetworkSolver[Any]")


class NetworkSolver(abc.ABC, Generic[CouplingT]):
    """A training of torch networks, and after `fit` the couplings that it made."""

    name: ClassVar[str]
    _recipe: ClassVar[type[Recipe]] = Recipe
    _both_directions: ClassVar[bool] = False  # trained in each update
    _defaults: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        networks: dict[str, nn.Module],
        reference: Reference,
        device: torch.device | str,
        options: dict[str, Any],
    ):
        for kind, network in networks.items():
            if not isinstance(network, nn.Module):
                named = "network" if kind == FORWARD else kind
                raise TypeError(
                    f"[torch] {named} must be a torch.nn.Module, got {type(network).__name__}"
                )
        self.networks, self.reference = networks, reference
        self.recipe = self._recipe.of(options, **self._defaults)
        self.device = torch.empty(0, device=device).device
        self._start = {d: copy.deepcopy(n.state_dict()) for d, n in networks.items()}
        self._couplings: dict[str, CouplingT] | None = None
        self._about: dict[str, str | None] = {}  # of the last fit, as config.toml has it
        self.history: list[dict[str, Any]] = []
        self.diagnostics: dict[str, Any] = {}

    @abc.abstractmethod
    def _answer(self, direction: str) -> Answer:
        """The couplings that the network of a direction makes."""

    @abc.abstractmethod
    def _trained(self, ranks: Ranks) -> dict[str, TrainedNetwork]:
        """The networks as the training changes them."""

    def fit(
        self: SolverT,
        pair: Any,
        x1: Any = None,
        *,
        samples: int = 0,
        training_set: int = 0,
        seed: int = 0,
        folder: str | os.PathLike[str] | None = None,
        resume: bool = False,
        on_log: Callable[[dict[str, Any]], object] | None = None,
        progress: bool | Callable[[str, int, int, str], object] = False,
    ) -> SolverT:
        """Train on a pair, or on two sets of states; returns the model itself.

        fit(pair) has endless draws, with `samples` the rows of a training set; fit(x0, x1) takes
        integers [n,D] and [m,D]. Networks start from the parameters that they had when the model
        was made. With a `folder` the run is kept there: after a kill or Ctrl-C the same call with
        resume=True ends in the parameters of an undisturbed one. Under torchrun the ranks train one
        model, batch_size pairs an update together; the first writes. `on_log` gets each line of the
        log, `progress` is True or a callable, as for the library's solvers.
        """
        data = read_data(pair, x1, samples, training_set, self.reference, self.device)
        self._about = {
            "pair": data.name,
            "dim": str(data.dim),
            "seed": str(seed),
            "samples": str(samples) if samples else None,
            "training_set": str(training_set) if samples else None,
        }
        self._check_network(data)
        checkpoint = None
        if folder is not None:
            if self._open_folder(Path(folder), resume):
                return self
            checkpoint = Checkpoint(Path(folder))
        elif resume:
            raise ValueError("[torch] resume needs folder, where the run to go on with is")
        for direction, network in self.networks.items():
            network.load_state_dict(self._start[direction])
        ranks = Ranks(self.device)
        training = Training(
            self._trained(ranks),
            self._stages(),
            self.reference.to(self.device),
            self.recipe,
            ranks,
            data,
            self.device,
            seed,
            checkpoint=checkpoint,
            on_log=on_log,
            progress=_reporter(progress),
        )
        training.run()
        self._couplings = {d: cast(CouplingT, n.coupling) for d, n in training.networks.items()}
        self.history, self.diagnostics = training.history, training.diagnostics
        if folder is not None and ranks.is_first:
            self._complete(Path(folder))
        return self

    @property
    def coupling(self) -> CouplingT:
        """What the last fit made, x1 given x0. Raises RuntimeError before the first."""
        return self._coupling_of(FORWARD)

    def sample(self, x0: Any, seed: int | None = None) -> Any:
        """Draw x1 given each row of x0 [B,D]: int64 [B,D]."""
        return self.coupling.sample(x0, seed)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Keep the fitted model as a run folder, for `load`; the command line explains it."""
        self._coupling_of(FORWARD)
        path = Path(folder)
        if (path / "config.toml").exists():
            raise OSError(f"{path}: already holds a run; give another folder")
        path.mkdir(parents=True, exist_ok=True)
        write_atomically(path / "config.toml", self._config().encode())
        lines = "".join(json.dumps(line) + "\n" for line in self.history)
        write_atomically(path / "log.jsonl", lines.encode())
        self._complete(path)

    @classmethod
    def load(
        cls: type[SolverT],
        folder: str | os.PathLike[str],
        network: nn.Module | None = None,
        device: torch.device | str = "cpu",
        *,
        backward: nn.Module | None = None,
    ) -> SolverT:
        """The fitted model of a run folder.

        `network` is one of the kind that was trained; those of `bridgemark.torch.networks` are made
        again without it. `backward` is the other direction's where that is of another kind.
        """
        path = Path(folder)
        config = read_config(path / "config.toml")
        about = config[""]
        if about.get("kind") != "torch":
            raise ValueError(f"[torch] {path} must hold a run of bridgemark.torch")
        if about["solver"] != cls.name:
            raise ValueError(f"[torch] {path} must hold a run of {cls.name}, got {about['solver']}")
        if not (path / "result.json").exists():
            raise OSError(f"{path}: the run is not complete; resume its training")
        tensors = read_tensors(path / "model.safetensors")
        reference = _read_reference(config["reference"], tensors)
        if network is None:
            network = _networks.make(config.get("network", {}), path)
        make = cast(Any, cls)  # a solver's own signature
        model: SolverT = make(network, reference, device=device, **config["options"])
        keys = ("pair", "dim", "seed", "samples", "training_set")
        model._about = {key: about.get(key) for key in keys}
        model._couplings = {}
        for direction in model._directions():
            kind = network if direction == FORWARD or backward is None else backward
            average = copy.deepcopy(kind)
            first = f"{direction}."
            state = {k[len(first) :]: v for k, v in tensors.items() if k.startswith(first)}
            average.load_state_dict(state)
            average.to(model.device).eval().requires_grad_(False)
            where = {"device": model.device, "precision": model.recipe.precision}
            model._couplings[direction] = model._answer(direction).coupling(average, **where)
        model.diagnostics = json.loads((path / "result.json").read_text())["diagnostics"]
        lines = (path / "log.jsonl").read_text().splitlines()
        model.history = [json.loads(line) for line in lines]
        return model

    def __repr__(self) -> str:
        fitted = "" if self._couplings is None else ", fitted"
        network = type(self.networks[FORWARD]).__name__
        return f"<bridgemark.torch.{type(self).__name__} of {network}, {self.reference}{fitted}>"

    def _coupling_of(self, direction: str) -> CouplingT:
        if self._couplings is None:
            raise RuntimeError(f"[torch] {self.name} must be fitted first: call fit")
        return self._couplings[direction]

    def _check_network(self, data: Data) -> None:
        """Refuses logits of another shape before anything is drawn or written."""
        expected = [2, data.dim, self.reference.num_categories]
        for direction in self._directions():
            network = self.networks[direction].to(self.device)
            last = self._answer(direction).num_steps - 1
            x = torch.zeros(2, data.dim, dtype=torch.int64, device=self.device)
            was_training = network.training
            try:
                with torch.no_grad():
                    logits = network.eval()(x, torch.full_like(x[:, 0], last))
            except IndexError:
                raise ValueError(
                    f"[torch] the {direction} network must take steps n in 0..{last}"
                ) from None
            network.train(was_training)
            if list(logits.shape) != expected:
                raise ValueError(
                    f"[torch] the {direction} network must give logits [B,D,S], {expected} for two "
                    f"rows, got {list(logits.shape)}"
                )

    def _directions(self) -> tuple[str, ...]:
        """Those that a training answers."""
        return tuple(d for d in (FORWARD, BACKWARD) if d in self.networks)

    def _stages(self) -> list[Stage]:
        return stages_of(self.recipe, self._both_directions)

    def _config(self) -> str:
        network = _networks.describe(self.networks[FORWARD])
        described = self.reference.describe()
        numbers = {k: v for k, v in described.items() if not isinstance(v, torch.Tensor)}
        about = {"kind": "torch", "solver": self.name, **self._about}
        return config_text(
            {"": about, "options": self.recipe.options, "reference": numbers, "network": network}
        )

    def _open_folder(self, folder: Path, resume: bool) -> bool:
        """Makes the folder of a run, or finds one to go on with; True where that is complete."""
        config, text = folder / "config.toml", self._config()
        first = os.environ.get("RANK", "0") == "0"
        if config.exists() and not resume:
            if first:
                raise OSError(f"{folder}: already holds a run; give another folder or resume it")
        elif config.exists() and config.read_text() != text:
            raise OSError(f"{folder}: holds a run with another configuration (see config.toml)")
        if (folder / "result.json").exists():
            ours = self.networks
            done = type(self).load(folder, ours[FORWARD], self.device, backward=ours.get(BACKWARD))
            self._couplings = done._couplings
            self.history, self.diagnostics = done.history, done.diagnostics
            return True
        if first and not config.exists():
            for name in ("checkpoint.pt", "model.safetensors"):
                if (folder / name).exists():
                    raise OSError(f"{folder}: holds {name} but no config.toml; give another folder")
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(config, text.encode())
        return False

    def _complete(self, folder: Path) -> None:
        """The files that follow a fit; result.json is the last, and says that the run is whole."""
        assert self._couplings is not None
        tensors = {
            f"{direction}.{name}": value
            for direction, coupling in self._couplings.items()
            for name, value in coupling.network.state_dict().items()
        }
        for name, value in self.reference.describe().items():
            if isinstance(value, torch.Tensor):
                tensors[f"reference.{name}"] = value
        write_tensors(folder / "model.safetensors", tensors)
        result = {"solver": self.name, "torch": torch.__version__, "diagnostics": self.diagnostics}
        text = json.dumps(result, indent=2) + "\n"
        write_atomically(folder / "result.json", text.encode())


class TwoWaySolver(NetworkSolver[CouplingT]):
    """One network from x0 to x1, and one back, a copy of the first unless it is given."""

    def __init__(
        self,
        network: nn.Module,
        reference: Reference,
        backward: nn.Module | None,
        device: torch.device | str,
        options: dict[str, Any],
    ):
        second = copy.deepcopy(network) if backward is None else backward
        super().__init__({FORWARD: network, BACKWARD: second}, reference, device, options)
        self._references = {FORWARD: reference, BACKWARD: reference.reversed()}

    def reversed(self) -> CouplingT:
        """The other direction: x0 given x1."""
        return self._coupling_of(BACKWARD)

    @abc.abstractmethod
    def _matching(self, direction: str) -> Matching:
        """What the network of a direction learns."""

    def _answer(self, direction: str) -> Answer:
        return self._matching(direction)

    def _trained(self, ranks: Ranks) -> dict[str, TrainedNetwork]:
        return {
            direction: MatchedNetwork(
                self.networks[direction],
                self._matching(direction),
                self.recipe,
                ranks,
                self.device,
            )
            for direction in self._directions()
        }


class ChainSolver(TwoWaySolver[ChainT]):
    """Networks that are asked at each step of a chain, whose steps are scored too."""

    def __init__(
        self,
        network: nn.Module,
        reference: Any,
        *,
        num_steps: int | None = None,
        backward: nn.Module | None = None,
        device: torch.device | str = "cpu",
        **options: Any,
    ):
        own = Reference.of(reference, num_steps)
        super().__init__(network, own, backward, device, options)
        self.num_steps = own.num_steps

    def sample_trajectory(
        self, x0: Any, num_steps: int | None = None, seed: int | None = None
    ) -> Any:
        """Draw paths from x0 [B,D]: [B,num_steps+1,D]."""
        return self.coupling.sample_trajectory(x0, num_steps, seed)

    def log_transition_marginals(self, x: Any, num_steps: int, n: int) -> Any:
        """log q(x_{n+1}^d = s | x_n = x) for x [B,D]: [B,D,S]."""
        return self.coupling.log_transition_marginals(x, num_steps, n)


def _reporter(progress: Any) -> Any:
    if progress is False:
        return None
    from .._progress import reporter

    return reporter(progress)


def _read_reference(numbers: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Reference:
    first = "reference."
    arrays = {k[len(first) :]: v for k, v in tensors.items() if k.startswith(first)}
    process = {k: v for k, v in numbers.items() if k not in ("kind", "num_steps")}
    return Reference(numbers["kind"], {**process, **arrays}, numbers["num_steps"])
