"""The board: submissions, their check, and the page of many results."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from . import _core
from ._arguments import require_path
from ._experiments import result_table
from ._progress import reporter
from ._tables import Table

_PathLike = str | os.PathLike[str]


def check_submission(
    folder: _PathLike,
    *,
    ask: _PathLike | None = None,
    answers: _PathLike | None = None,
    seed: int = 0,
    progress: bool | Callable[[str, int, int, str], object] = False,
) -> Table:
    """Hold a submission to the board against the truth and return the scores its answers have.

    `folder` is what `evaluate(..., submission=folder)` made, its solver.toml filled in. The answers
    are scored again; nothing of the submission is run or believed. The table is that of
    load_results. Raises ValueError with a line for each thing that is wrong: a stale pair, a file
    that was changed or has another shape, a score that the answers do not have. What
    `bridgemark check-submission` does.

    Answers in files could be made without a solver. With `ask`, a folder, new inputs are written
    there once the submission is good, a kit for each set of answers: draws that depend on `seed`
    and on a hash of the answers. Their makers answer them (`evaluate(..., answer=kit)`), and with
    `answers`, that folder, and the same `seed` a line says where they are not of the solver that
    made the submission.
    """
    require_path(folder=folder)
    if ask is not None and answers is not None:
        raise ValueError("[check_submission] give one of ask and answers, got both")
    for name, path in (("ask", ask), ("answers", answers)):
        if path is not None:
            require_path(**{name: path})
    rows, refusals = _core.check_submission(
        folder, ask=ask, answers=answers, seed=seed, progress=reporter(progress)
    )
    if refusals:
        raise ValueError("\n".join(refusals))
    return result_table(rows)


def board(
    results: _PathLike | Sequence[_PathLike],
    output: _PathLike,
    *,
    submissions: _PathLike | Sequence[_PathLike] = (),
    leave_out: str | Sequence[str] = (),
    progress: bool | Callable[[str, int, int, str], object] = False,
) -> list[Path]:
    """Write the board of results folders and submissions and return the files: `bridgemark board`.

    `results` are folders with results.jsonl; a cell, a method on a pair, comes from the first that
    has it. `submissions` are submissions or folders of them; each is checked, and a bad one is
    refused. `leave_out` names methods to leave out of `results`, with * and ?. The folder `output`
    then has index.html, which needs no other file, board.json and board.csv.
    """
    require_path(output=output)
    return _core.write_board(
        _paths("results", results),
        output,
        submissions=_paths("submissions", submissions),
        leave_out=[leave_out] if isinstance(leave_out, str) else list(leave_out),
        progress=reporter(progress),
    )


def _paths(name: str, given: _PathLike | Sequence[_PathLike]) -> list[_PathLike]:
    paths = [given] if isinstance(given, str | os.PathLike) else list(given)
    for path in paths:
        require_path(**{name: path})
    return paths
