"""What `pair.reference` is: the kind of a reference process that remembers its pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core


class PairReference(str):
    """'gaussian', 'uniform' or 'matrix', with all that makes the process again for other data."""

    pair: _core.Pair

    def __new__(cls, kind: str, pair: _core.Pair) -> PairReference:
        self = super().__new__(cls, kind)
        self.pair = pair
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return PairReference, (str(self), self.pair)

    def parts(self) -> dict[str, Any]:
        """The arguments of a fit to data over this reference, in the direction of its pair."""
        matrix = str(self) == "matrix"
        return {
            "reference": np.exp(self.pair.log_reference(1)) if matrix else str(self),
            "gamma": self.pair.gamma,
            "num_categories": self.pair.num_categories,
            "total_steps": self.pair.total_steps,
        }
