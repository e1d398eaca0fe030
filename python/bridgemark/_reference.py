"""What `pair.reference` is: the kind of a reference process that remembers its pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core


class PairReference(str):
    """The kind, 'gaussian' for one, with what makes the process for other data."""

    pair: _core.Pair

    def __new__(cls, kind: str, pair: _core.Pair) -> PairReference:
        self = super().__new__(cls, kind)
        self.pair = pair
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return PairReference, (str(self), self.pair)

    def parts(self) -> dict[str, Any]:
        """The arguments of a fit to data over this reference, in the direction of its pair."""
        reference: Any = str(self)
        if reference == "matrix":
            reference = np.exp(self.pair.log_reference(1))
        elif reference == "lowrank":
            reference = self.pair.reference_factors
        elif reference == "graph":
            reference = self.pair.reference_graph
        return {
            "reference": reference,
            "gamma": self.pair.gamma,
            "num_categories": self.pair.num_categories,
            "total_steps": self.pair.total_steps,
        }
