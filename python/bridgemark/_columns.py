"""Tables: columns with categories and references of their own, and bridges between two of them."""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._arguments import require_path, require_text
from ._own_data import DataComparison
from ._progress import reporter
from ._tables import import_pandas


def _is_missing(value: Any) -> bool:
    """None, a NaN, and what pandas has for them."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA, which is neither
        return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _field(value: Any) -> str:
    """A value as a field: texts in quotes, so that "NA" is no missing one and "1" no number."""
    if _is_missing(value):
        return ""
    if _is_number(value):
        return repr(value.item() if isinstance(value, np.generic) else value)
    return '"' + str(value).replace('"', '""') + '"'


def _read_text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"[columns] {path} must be UTF-8 text, got other bytes") from error


def _names_of(name: str, rows: Any) -> list[str]:
    """The names of the columns of a table. Raises ValueError where two are the same."""
    names = [str(key) for key in rows.keys()]
    for i, key in enumerate(names):
        if key in names[:i]:
            raise ValueError(f"[columns] names of {name}'s columns must differ, got '{key}' twice")
    return names


def _csv_text(name: str, rows: Any) -> str:
    """The text of a table: a frame, a mapping of columns, or the path of a .csv file."""
    if isinstance(rows, (str, os.PathLike)):
        return _read_text(rows)
    if not hasattr(rows, "keys") or not hasattr(rows, "__getitem__"):
        raise TypeError(
            f"[columns] {name} must be a pandas.DataFrame, a mapping of columns or the path of a "
            f".csv file, got {type(rows).__name__}"
        )
    names = _names_of(name, rows)
    columns = [list(rows[key]) for key in rows.keys()]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueError(f"[columns] columns of {name} must be equally long, got {lengths}")
    lines = [",".join('"' + key.replace('"', '""') + '"' for key in names)]
    lines += [",".join(_field(value) for value in row) for row in zip(*columns)]
    return "\n".join(lines) + "\n"


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() and "." not in text and "e" not in text else value


def _values_like(fields: list[str], given: Any) -> list[Any]:
    """Fields as the values of a column are: numbers, booleans, or what was written like them."""
    kinds = {str(value): value for value in given if not _is_missing(value)}
    if any(isinstance(value, (bool, np.bool_)) for value in kinds.values()):
        kinds = {"False": False, "True": True} | kinds
    if kinds and not any(map(_is_number, kinds.values())):
        return [None if field == "" else kinds.get(field, field) for field in fields]
    try:
        return [None if field == "" else _number(field) for field in fields]
    except ValueError:  # without a value to look at
        return [None if field == "" else field for field in fields]


def _columns_of(text: str, like: Any) -> Any:
    """The columns of a .csv text as `like` has them."""
    names, *rows = csv.reader(io.StringIO(text))
    is_path = isinstance(like, (str, os.PathLike))
    columns: dict[str, list[Any]] = {}
    for i, name in enumerate(names):
        # A line of one empty field is read as no field at all.
        fields = [row[i] if row else "" for row in rows]
        columns[name] = _values_like(fields, () if is_path else like[name])
    if isinstance(like, Mapping):
        return columns
    frame = import_pandas().DataFrame(columns)
    for name in () if is_path else columns:
        dtype = like[name].dtype
        if hasattr(dtype, "categories"):
            known = set(frame[name].dropna()) <= set(dtype.categories)
            frame[name] = frame[name].astype(dtype if known else "category")
    return frame


def _quoted(value: Any) -> str:
    """A value of a columns file."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_quoted(entry) for entry in value) + "]"
    if isinstance(value, (int, float, np.number)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    escaped = "".join(
        f"\\u{ord(c):04x}" if ord(c) < 32 or c in '"\\\x7f' else c for c in str(value)
    )
    return f'"{escaped}"'


class Columns:
    """The columns of two tables: what their categories are and how each may move.

    `x0` and `x1` are pandas.DataFrames, mappings of columns or paths of .csv files, unpaired rows
    of two ends. `columns` says which columns are used, in their order, and what is fixed of each: a
    mapping from a name to a kind, 'ordered', 'unordered', 'count' or 'binary', or to a dict with
    any of `kind`, `bins`, `values`, `edges`, `levels`, `missing` and `gamma`; a list of names; or
    the path of a columns file. Without it all columns of `x0` are used. What is not fixed is found
    in the data: two values are binary, numbers are ordered, any other texts are not. Numbers fall
    into at most 32 bins of equally many rows; an ordered pandas categorical keeps its order. None,
    NaN and empty fields are a category of their own where a column has some.

    Columns that are ordered or counts move to their neighbours, by a Gaussian reference; others to
    any value alike, by a uniform one. Each gamma leads 0.4 of the way of independent ends, or up to
    0.8 where the two ends of the column lie further apart.
    """

    def __init__(
        self,
        x0: Any,
        x1: Any,
        columns: Mapping[str, Any] | Sequence[str] | str | os.PathLike[str] | None = None,
        *,
        total_steps: int = 128,
    ):
        self._text = _core.fit_columns(
            _columns_text(columns, x0), _csv_text("x0", x0), _csv_text("x1", x1), total_steps
        )

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return str(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the columns file, which `bridgemark train --columns` and `columns` take."""
        require_path(path=path)
        Path(path).write_text(self._text, encoding="utf-8")

    def fit(
        self,
        x0: Any,
        x1: Any,
        *,
        seed: int | np.random.Generator | None = 0,
        output: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: bool | Callable[[str, int, int, str], object] = False,
        **options: Any,
    ) -> TableBridge:
        """Fit a bridge between two tables, by DLightSB on columns of their own.

        A share of the rows, `holdout`, stops the training. `options` are those of `bridgemark train
        dlightsb --columns`: components, updates, batch_size, learning_rate, holdout, patience.
        `output` keeps a run folder, which `TableBridge.load` and the command read.
        """
        if output is not None:
            require_path(output=output)
        run = _core.train_columns(
            self._text,
            _csv_text("x0", x0),
            _csv_text("x1", x1),
            {key: str(value) for key, value in options.items()},
            seed=seed,
            folder=output,
            resume=bool(resume),
            progress=reporter(progress),
        )
        return TableBridge(run)


def _columns_text(
    columns: Mapping[str, Any] | Sequence[str] | str | os.PathLike[str] | None, x0: Any
) -> str:
    """The text of a columns file; empty for all columns as they are found."""
    if isinstance(columns, (str, os.PathLike)):
        return _read_text(columns)
    orders = _orders_of(x0)
    if columns is None:
        if not orders:
            return ""
        columns = _names_of("x0", x0)
    if not isinstance(columns, Mapping):
        listed: list[tuple[Any, Any]] = [(name, {}) for name in columns]
    else:
        listed = list(columns.items())
    text = ""
    for name, given in listed:
        parts = {"kind": given} if isinstance(given, str) else dict(given or {})
        if name in orders and not parts.keys() & {"values", "levels", "edges", "bins"}:
            if parts.get("kind", "ordered") == "ordered":
                parts |= {"kind": "ordered", "values": orders[name]}
        text += "[[column]]\n" + "".join(
            f"{key} = {_quoted(value)}\n" for key, value in ({"name": str(name)} | parts).items()
        )
    return text


def _orders_of(rows: Any) -> dict[Any, list[str]]:
    """The values of the columns of a frame that are categories in an order."""
    found = {}
    for name, dtype in getattr(rows, "dtypes", {}).items():
        if getattr(dtype, "ordered", False):
            found[name] = [str(value) for value in dtype.categories]
    return found


class TableBridge:
    """A fitted bridge between two tables: draws rows of x1 for rows of x0, with their columns."""

    def __init__(self, run: _core.TableRun):
        self._run = run

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> TableBridge:
        """The run of `bridgemark train --columns` or of `Columns.fit` in a folder."""
        require_path(folder=folder)
        return cls(_core.load_table_run(Path(folder)))

    @property
    def columns(self) -> str:
        """The columns file of the training: vocabularies, edges and gammas."""
        return self._run.columns

    @property
    def diagnostics(self) -> dict[str, Any]:
        """What the training says of itself."""
        return self._run.diagnostics

    def sample(self, x0: Any, *, seed: int | np.random.Generator | None = None) -> Any:
        """Draw x1 for each row of `x0`: a frame, for a mapping a dict of lists.

        A bin of numbers is its median, a missing value None or NaN.
        """
        return _columns_of(self._run.sample(_csv_text("x0", x0), seed=seed), x0)

    def log_conditional(self, x0: Any, x1: Any) -> np.ndarray:
        """log q(x1 | x0) of each row of two tables, float64."""
        return np.array(
            self._run.log_conditional(_csv_text("x0", x0), _csv_text("x1", x1)), dtype=np.float64
        )

    def compare_on(
        self,
        x0: Any,
        x1: Any,
        others: Mapping[str, TableBridge] | None = None,
        *,
        name: str = "bridge",
        seed: int | np.random.Generator | None = 0,
        progress: bool | Callable[[str, int, int, str], object] = False,
        report: str | os.PathLike[str] | None = None,
    ) -> DataComparison:
        """Score it on rows that it was not trained on, beside others of the same columns.

        What `bridgemark.compare_on` says of arrays; `name` is what it is called. `report` is a page
        to write, an HTML file: the scores, and rows of the table before and after.
        """
        require_text(name=name)
        if report is not None:
            require_path(report=report)
        named = {name: self} | dict(others or {})
        if others and name in others:
            raise ValueError(f"[compare_on] others must have names other than {name!r:.80}")
        for other in named.values():
            if not isinstance(other, TableBridge):
                raise TypeError(
                    "[compare_on] others must be a mapping from names to TableBridge, got one to "
                    f"{type(other).__name__}"
                )
        values, text, order = _core.compare_columns(
            [bridge._run for bridge in named.values()],
            list(named),
            _csv_text("x0", x0),
            _csv_text("x1", x1),
            seed=seed,
            progress=reporter(progress),
            report=report,
        )
        for warning in values["warnings"]:
            warnings.warn(warning, UserWarning, stacklevel=2)
        return DataComparison(values, text, order)
