"""Rows that print as a table and turn into dicts, pandas frames and the library's forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from . import _core

if TYPE_CHECKING:
    import pandas


def import_pandas() -> Any:
    """pandas, which is optional. Raises ImportError that says so."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("[python] to_pandas needs pandas: pip install pandas") from error
    return pandas


class Table(Sequence[Mapping[str, Any]]):
    """Rows with the same columns: a sequence of dicts.

    `print(table)` shows it, `to_dicts()`, `to_pandas()`, `to_markdown()`, `to_latex()` and
    `to_csv()` hand it on, `where(column=value)` keeps the rows that match.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None):
        self._rows = [dict(row) for row in rows]
        self.columns = list(columns if columns is not None else self._rows[0] if self._rows else [])
        for row in self._rows:
            if row.keys() != set(self.columns):
                raise ValueError(
                    f"[table] each row must have the columns {', '.join(self.columns)}, "
                    f"got {', '.join(row)}"
                )

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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self.columns == other.columns and self._rows == other._rows

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

    def to_markdown(self) -> str:
        """A Markdown table of all rows."""
        return _core.table_markdown(self.columns, self._values())

    def to_latex(self) -> str:
        """A LaTeX tabular of all rows, which needs the package booktabs."""
        return _core.table_latex(self.columns, self._values())

    def to_csv(self) -> str:
        """Comma-separated values with a header; numbers in full, None is empty."""
        return _core.table_csv(self.columns, self._values())

    def _values(self) -> list[list[Any]]:
        return [[row[column] for column in self.columns] for row in self._rows]

    def __str__(self) -> str:
        return _core.table_text(self.columns, self._values())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return _core.table_html(self.columns, self._values())
