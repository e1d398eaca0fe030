"""Couplings by label: what a fit with a condition makes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from . import _core

ArrayT = TypeVar("ArrayT")


class LabelledCoupling(Mapping[int, _core.Coupling]):
    """A coupling for each label: draws x1 given x0 and a label, which x1 keeps.

    What `solver.by_label` is after fit(x0, x1, condition=(labels0, labels1)). A mapping of labels
    to their couplings, `solver.by_label[3].sample(x0)`. Its calls take rows of all labels with
    `condition`, integers [B], a label for each row; one that was not trained raises ValueError.
    """

    def __init__(self, couplings: Mapping[int, _core.Coupling]):
        if not couplings:
            raise ValueError("[labels] there must be a label, got none")
        self._couplings = {label: couplings[label] for label in sorted(couplings)}

    def __getitem__(self, label: int) -> _core.Coupling:
        return self._couplings[label]

    def __iter__(self) -> Iterator[int]:
        return iter(self._couplings)

    def __len__(self) -> int:
        return len(self._couplings)

    def sample(
        self, x0: ArrayT, condition: Any, seed: int | np.random.Generator | None = None
    ) -> ArrayT:
        """Draw x1 ~ q(.|x0, label) for each row of x0 [B,D]: int32 [B,D]."""
        return _core.sample_labels(self._couplings, x0, condition, seed)

    def sample_trajectory(
        self,
        x0: ArrayT,
        condition: Any,
        num_steps: int | None = None,
        seed: int | np.random.Generator | None = None,
    ) -> ArrayT:
        """Draw trajectories from x0 [B,D]: int32 [B,num_steps+1,D]."""
        return _core.sample_trajectory_labels(self._couplings, x0, condition, num_steps, seed)

    def log_conditional(self, x0: ArrayT, x1: ArrayT, condition: Any) -> ArrayT:
        """log q(x1|x0, label) for the rows of x0 [B,D] and x1 [B,D]: float64 [B]."""
        return _core.log_conditional_labels(self._couplings, x0, x1, condition)

    def reversed(self) -> LabelledCoupling:
        """The same read from x1 to x0, label by label: see Coupling.reversed."""
        return LabelledCoupling({label: own.reversed() for label, own in self.items()})

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Keep all as a labelled run, which `load_solver` and the command line read."""
        _core.save_labels(self._couplings, folder)

    def __repr__(self) -> str:
        labels = ", ".join(str(label) for label in self)
        return f"<bridgemark.LabelledCoupling of labels {labels}: {next(iter(self.values()))}>"


def condition_of(condition: Any) -> tuple[Any, Any]:
    """The labels of both ends. Raises TypeError for anything but two arrays."""
    if not isinstance(condition, (tuple, list)) or len(condition) != 2:
        raise TypeError(
            "[labels] condition must be the labels of x0 and those of x1, condition=(labels0, "
            f"labels1), got {type(condition).__name__}"
        )
    return condition[0], condition[1]


def load_labelled(folder: str | os.PathLike[str]) -> LabelledCoupling | None:
    """The couplings of a labelled run; None for a folder that is none."""
    folders = _core.run_labels(folder)
    if folders is None:
        return None
    return LabelledCoupling(
        {label: _core.load_coupling(own, None) for label, own in folders.items()}
    )
