"""The `bridgemark` command: the program that lies in the package."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def main() -> None:
    """Become the program, with the arguments of this process."""
    program = Path(__file__).parent / "bin" / "bridgemark"
    if not program.exists():
        sys.exit(f"[python] {program} is not there: install bridgemark from its wheel")
    os.environ.setdefault("BRIDGEMARK_PYTHON", sys.executable)  # has its solvers of Python
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the program would too
    os.execv(program, [str(program), *sys.argv[1:]])
