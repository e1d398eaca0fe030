"""Experiments: grids of runs, their results, tables and report, as `bridgemark run` makes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import _core
from ._arguments import require_flag, require_path, require_text
from ._progress import reporter
from ._tables import Table

_PathLike = str | os.PathLike[str]
_COLUMNS = (
    "run",
    "method",
    "pair",
    "seed",
    "samples",
    "training_set",
    "score",
    "value",
    "standard_error",
)


@contextmanager
def _same_modules() -> Iterator[None]:
    """Processes that are started find a solver's module where this one does."""
    name = "PYTHONPATH"
    before = os.environ.get(name)
    os.environ[name] = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def result_table(rows: Sequence[tuple[object, ...]]) -> Table:
    """Rows of native code as a table."""
    return Table((dict(zip(_COLUMNS, row)) for row in rows), _COLUMNS)


def load_results(folder: _PathLike) -> Table:
    """The results of an experiment's folder: one row for each run and score.

    Columns are run, method, pair, seed, samples (rows of a training set, 0 for endless draws),
    training_set, score, value and standard_error; a value that cannot be
    given is None. `where(score="joint_kl")` keeps one score.
    """
    require_path(folder=folder)
    return result_table(_core.result_rows(folder))


def run(
    experiment: _PathLike,
    folder: _PathLike,
    *,
    resume: bool = False,
    only: str | Sequence[str] = (),
    jobs: int = 0,
    progress: bool | Callable[[str, int, int, str], object] = False,
    device: str = "cpu",
) -> Table:
    """Run a grid of pairs, solvers, options, training sets and seeds, and return its results.

    `experiment` is a .toml file, or the name of one that comes with the package, 'paper-cpu' or
    'quick'; `folder` takes the runs and results: what `bridgemark run` makes, and goes on with.
    Each run is a Python process of its own, `jobs` of them side by side (0: one for each thread, on
    a GPU up to 8 where they can share it; the logger "bridgemark" says how). `only` keeps the runs
    with a part of their id, or a pattern with * and ? for all of it. With `resume` finished runs
    are skipped and interrupted ones go on; Ctrl-C stops all of them and keeps what is done. Where a
    run fails the others are done all the same; then RuntimeError says which and why.
    """
    require_path(experiment=experiment, folder=folder)
    require_flag(resume=resume)
    require_text(device=device)
    with _same_modules():
        failed = _core.run_experiment(
            experiment,
            folder,
            command=[sys.executable, "-m", "bridgemark"],
            only=[only] if isinstance(only, str) else list(only),
            jobs=jobs,
            resume=resume,
            progress=reporter(progress),
            device=device,
        )
    if failed:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failed)
        raise RuntimeError(
            f"[run] {len(failed)} runs failed, the others are in {os.fspath(folder)}: {reasons}"
        )
    return load_results(folder)


def report(
    folder: _PathLike,
    output: _PathLike | None = None,
    *,
    whole: bool = False,
    tables_only: bool = False,
    vega: _PathLike | None = None,
    progress: bool | Callable[[str, int, int, str], object] = False,
) -> list[Path]:
    """Write the report of an experiment's results and return the files: what `bridgemark report`
    does.

    `output` is the HTML file, folder/report.html without it; tables.md, tables.tex and tables.csv
    go beside it, and are all with `tables_only`. `whole` gives all rows and columns of the paper's
    tables, blank where nothing was measured. `vega` is the folder of Vega's scripts, which the HTML
    file takes in: without it the wheel's own, or that of Debian's libjs-vega.
    """
    require_path(folder=folder)
    require_flag(whole=whole, tables_only=tables_only)
    target = Path(folder) / "report.html" if output is None else output
    own = Path(__file__).parent / "vega"
    if vega is None and own.is_dir():
        vega = own
    return _core.write_report(
        folder, target, whole=whole, tables_only=tables_only, vega=vega, progress=reporter(progress)
    )
