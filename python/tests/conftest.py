"""What the tests share: a small pair, and the command line to compare with."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import bridgemark as bm

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """Shells start background jobs with SIGINT ignored; tests that send it need it heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def pair():
    return bm.load("d2-gaussian-0.02")


class CommandLine:
    def __init__(self, program):
        self.program = program

    def __call__(self, *arguments):
        done = subprocess.run(
            [self.program, *map(str, arguments)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments):
        return json.loads(self(*arguments, "--json"))


@pytest.fixture(scope="session")
def command_line():
    program = os.environ.get("BRIDGEMARK_CLI", str(ROOT / "build" / "bridgemark"))
    if not os.access(program, os.X_OK):
        pytest.skip(f"no program at {program}: run `make build` or set BRIDGEMARK_CLI")
    return CommandLine(program)
