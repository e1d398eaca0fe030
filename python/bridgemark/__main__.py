"""Processes of one purpose that grids start: a run, an estimate, a look at solvers of Python.

No command for people.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from types import FrameType
from typing import TextIO

from . import _core, _outside_solvers
from ._progress import reporter

_USAGE = "[python] python -m bridgemark belongs to bridgemark.run: call that\n"


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt  # a training keeps a checkpoint and ends


def _prepare(text: str, threads: str, device: str, sharers: str) -> None:
    """For a solver of Python, which is imported later: its own threads are as many as the run's."""
    os.environ["OMP_NUM_THREADS"] = threads
    asked = json.loads(text)
    _outside_solvers.process = _outside_solvers.Process(
        pair=asked.get("pair"),
        device=device,
        threads=int(threads),
        sharers=int(sharers),
        report=reporter(True),
    )


def _take_output() -> TextIO:
    """Standard output for the answer alone: what solvers print goes where their complaints go."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return answer


def _run(text: str, folder: str, threads: str, device: str, sharers: str) -> int:
    _prepare(text, threads, device, sharers)
    _take_output()
    return _core.make_run(
        text,
        folder,
        threads=int(threads),
        progress=_outside_solvers.process.report,
        device=device,
        sharers=int(sharers),
    )


def _estimate(text: str, threads: str, device: str) -> int:
    _prepare(text, threads, device, "1")
    with _take_output() as answer:
        train, evaluate = _core.estimate_run(text, threads=int(threads), device=device)
        json.dump({"train": train, "evaluate": evaluate}, answer)
    return 0


def _describe(name: str = "") -> int:
    with _take_output() as answer:
        found = _outside_solvers.find(name) if name else None
        said = {
            "version": _core.version,
            "names": _outside_solvers.names(),
            "solver": json.loads(found.describe()) if found else None,
        }
        json.dump(said, answer)
    return 0


def _dispatch(arguments: list[str]) -> int:
    command, *rest = arguments or [""]
    if command == _core.CELL_COMMAND and len(rest) == 8:
        text, folder, _, threads, _, device, _, sharers = rest
        return _run(text, folder, threads, device, sharers)
    if command == _core.ESTIMATE_COMMAND and len(rest) == 5:
        text, _, threads, _, device = rest
        return _estimate(text, threads, device)
    if command == "describe-solvers" and len(rest) <= 1:
        return _describe(*rest)
    sys.stderr.write(_USAGE)
    return 2


def main(arguments: list[str]) -> int:
    """The exit status of RUN-CELL TEXT FOLDER --threads N --device NAME --sharers N, and others."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        return _dispatch(arguments)
    except KeyboardInterrupt:
        return 130
    except BaseException as error:  # the last line of the log is what the grid says of the failure
        if _outside_solvers.place_of(error) is not None:
            traceback.print_exc()
        sys.stderr.write(f"{_outside_solvers.one_line(error)}\n")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
