"""The numbers of the paper's result tables."""

from __future__ import annotations

from typing import Any

from . import _core
from ._tables import Table

_COLUMNS = ("table", "method", "loss", "steps", "pair", "value")


def _known(rows: list[dict[str, Any]], column: str, value: str | int) -> Any:
    """The value as the tables spell it. Raises ValueError with all that there are."""
    known = list(dict.fromkeys(row[column] for row in rows if row[column] is not None))
    for candidate in known:
        if str(candidate).lower() == str(value).lower():
            return candidate
    raise ValueError(f"[paper] {column} must be one of {', '.join(map(str, known))}, got '{value}'")


def paper_results(
    table: str | None = None,
    method: str | None = None,
    pair: str | _core.Pair | None = None,
    *,
    loss: str | None = None,
    steps: int | None = None,
) -> Table:
    """The published numbers: rows of table, method, loss, steps, pair and value.

    Each argument keeps the rows that match. `table` is a score as `evaluate` calls it
    ('conditional_shape_score', 'shape_score', 'forward_trajectory_kl', ...) or 'reverse_c2st';
    `method` the paper's name or a solver's; `pair` a spread preset or its name; `loss` 'KL' or
    'MSE' and `steps` 16 or 64 for the methods that have them.

    The paper's pairs are lost. The spread presets stand in for them: theirs are the closest
    baselines of many seeds, so the numbers compare in kind, not to the last digit; no pair of the
    family that the paper's text describes has such baselines. Of the published trajectory KLs
    those of Reference and Feature-wise SB are means over steps and dimensions where all others
    are sums.
    """
    rows = _core.published_cells()
    methods = {row["solver"]: row["method"] for row in rows}
    wanted = {
        "table": table,
        "method": methods.get(method, method),
        "pair": pair.name if isinstance(pair, _core.Pair) else pair,
        "loss": loss,
        "steps": steps,
    }
    for column, value in wanted.items():
        if value is not None:
            spelled = _known(rows, column, value)
            rows = [row for row in rows if row[column] == spelled]
    return Table(({column: row[column] for column in _COLUMNS} for row in rows), _COLUMNS)
