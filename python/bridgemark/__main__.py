"""One run of a grid in a process of its own, which bridgemark.run starts. No command for people."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from . import _core
from ._progress import reporter


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt  # a training keeps a checkpoint and ends


def main(arguments: list[str]) -> int:
    """Make the run of CELL_COMMAND TEXT FOLDER --threads N --device NAME --sharers N."""
    if len(arguments) != 9 or arguments[0] != _core.CELL_COMMAND:
        sys.stderr.write("[python] python -m bridgemark belongs to bridgemark.run: call that\n")
        return 2
    signal.signal(signal.SIGTERM, _stop)
    _, text, folder, _, threads, _, device, _, sharers = arguments
    try:
        _core.make_run(
            text,
            folder,
            threads=int(threads),
            progress=reporter(True),
            device=device,
            sharers=int(sharers),
        )
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # the last line of the log is what the grid says of the failure
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
