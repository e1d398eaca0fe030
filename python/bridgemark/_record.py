"""What long calls return: a mapping with the keys of the program's --json."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any


class Record(Mapping[str, Any]):
    """A mapping that does not change, and prints as what it says."""

    def __init__(self, values: Mapping[str, Any]):
        self._values = dict(values)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain dicts, lists and numbers that json.dump takes."""
        return copy.deepcopy(self._values)
