"""Rows that print as a table and turn into dicts and pandas frames."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from . import _core

if TYPE_CHECKING:
    import pandas

_SHOWN_ROWS = 40  # longer tables print their ends


def import_pandas() -> Any:
    """pandas, which is optional. Raises ImportError that says so."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("[python] to_pandas needs pandas: pip install pandas") from error
    return pandas


def cell_text(value: Any) -> str:
    """A value as a table shows it: '-' for None."""
    if value is None:
        return "-"
    return _core.score_text(value) if isinstance(value, float) else str(value)


class Table(Sequence[Mapping[str, Any]]):
    """Rows with the same columns: a sequence of dicts.

    `print(table)` shows it, `to_dicts()` and `to_pandas()` hand it on, `where(column=value)` keeps
    the rows that match.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None):
        self._rows = [dict(row) for row in rows]
        self.columns = list(columns if columns is not None else self._rows[0] if self._rows else [])

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Table: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Table:
        if isinstance(index, slice):
            return Table(self._rows[index], self.columns)
        return dict(self._rows[index])

    def where(self, **values: Any) -> Table:
        """The rows whose columns have these values. Raises ValueError for an unknown column."""
        for column in values:
            if column not in self.columns:
                raise ValueError(
                    f"[table] column must be one of {', '.join(self.columns)}, got '{column}'"
                )
        rows = (row for row in self._rows if all(row[key] == values[key] for key in values))
        return Table(rows, self.columns)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a row."""
        return [dict(row) for row in self._rows]

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with one row a row; whole numbers stay whole beside None. Needs pandas."""
        frame = import_pandas().DataFrame(self._rows, columns=self.columns)
        for column in self.columns:
            kinds = {type(row[column]) for row in self._rows}
            if kinds == {int, type(None)}:
                frame[column] = frame[column].astype("Int64")
        return frame

    def _cells(self) -> list[list[str]]:
        rows = [[cell_text(row[column]) for column in self.columns] for row in self._rows]
        if len(rows) > _SHOWN_ROWS:
            half = _SHOWN_ROWS // 2
            rows = [*rows[:half], ["..."] * len(self.columns), *rows[-half:]]
        return rows

    def __str__(self) -> str:
        lines = [self.columns, *self._cells()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        numbers = [
            any(isinstance(row[column], (int, float)) for row in self._rows)
            for column in self.columns
        ]
        text = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(line, widths, numbers)
            ).rstrip()
            for line in lines
        ]
        if len(self) > _SHOWN_ROWS:
            text.append(f"[{len(self)} rows]")
        return "\n".join(text)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        def line(cells: Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

        body = "".join(line(cells, "td") for cells in self._cells())
        return f"<table>{line(self.columns, 'th')}{body}</table>"
