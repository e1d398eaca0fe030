#!/usr/bin/env python3
"""What newcomers do first, by the commands and the code of the documentation's pages.

    tests/system/five_ways.py bridgemark.whl [--ways look shell ...]

Each way has an environment of its own that holds the wheel and what its page says to install, and
an empty folder. The pages' blocks run in their order, unchanged; what a person adds stands below.
Prints the seconds of each block, the minutes of each way and what was said on standard error. Exits
1 where a block fails or what a way is to end with is not there.
"""

import argparse
import dataclasses
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))
from pages import BLOCK, MARK, environment, page_text, program_of  # noqa: E402

# A block without a language is one of commands where it begins with one of these.
COMMANDS = ("bridgemark", "pip", "python")

# ---- What a person adds ------------------------------------------------------------------------

# A solver in a file: answers with the row of x1 that is as far on in its column's order as x0 is.
ANSWERS = """
import os
import numpy as np

train_x0, train_x1 = np.load("train_x0.npy"), np.load("train_x1.npy")
random = np.random.default_rng(0)

def solve(x0):
    answer = np.empty_like(x0)
    for d in range(x0.shape[1]):
        rank = np.searchsorted(np.sort(train_x0[:, d]), x0[:, d] + random.random(len(x0)) - 0.5)
        answer[:, d] = np.sort(train_x1[:, d])[np.clip(rank, 0, len(train_x1) - 1)]
    return answer.astype(np.int32)

os.makedirs("answers")
given = np.load("kit/conditional_x0.npy")
np.save("answers/pred_x1.npy", solve(np.load("kit/test_x0.npy")))
many = solve(np.repeat(given, 1000, axis=0)).reshape(len(given), 1000, -1)
np.save("answers/pred_conditional_x1.npy", many)
"""

# The blanks of solver.toml.
BLANKS = """
from pathlib import Path

file = Path("mine/solver.toml")
text = file.read_text()
for key, value in {"authors": '["A. Author"]', "revision": '"4f2c1d0"', "updates": "1",
                   "description": '"Order by order."', "command": '"python answers.py"',
                   "date": "2026-11-16", "hardware": '"2 cores"'}.items():
    lines = [line for line in text.splitlines() if line.startswith(key + " =")]
    assert len(lines) == 1, (key, lines)
    text = text.replace(lines[0], f"{key} = {value}")
file.write_text(text)
"""

# The training of torch.md with the options that the page gives for a first look.
FIRST_LOOK = (
    "num_steps=16).fit(",
    "num_steps=16, updates_first=300, updates_later=100, imf_iterations=2).fit(",
)

# ---- The ways ----------------------------------------------------------------------------------


@dataclasses.dataclass
class Step:
    """Blocks of a page, or of one of its sections; or code of one's own."""

    page: str = ""
    heading: str | None = None
    own: str = ""
    first: int = 0  # of its blocks
    most: int = 99
    shorter: tuple[str, str] | None = None  # (text of the page, text that this script runs for it)

    def code(self):
        if self.own:
            return [("python", self.own)]
        text = page_text(self.page, self.heading)
        if self.shorter:
            assert self.shorter[0] in text, self.shorter[0]
            text = text.replace(*self.shorter)
        found = []
        for kind, body in BLOCK.findall(text):
            if kind == "" and body.startswith(COMMANDS):
                kind = "sh"
            if kind in ("sh", "python"):
                found.append((kind, body))
        if not found:
            raise ValueError(f"docs/{self.page}.md has nothing to run in '{self.heading}'")
        return found[self.first : self.first + self.most]


@dataclasses.dataclass
class Way:
    title: str
    steps: list[Step]
    ends_with: list[str]  # files
    needs: tuple[str, ...] = ()  # packages that its pages say to install
    torch: bool = False


WAYS = {
    "look": Way(
        "look and judge",
        [Step("reproduce", "The demo")],
        ["quick/report.html", "quick/tables.md"],
    ),
    "shell": Way(
        "from a shell",
        [
            Step("commands", "Help, completions, manual pages"),
            Step("add-a-solver", "From any language: files", most=1),
            Step(own=ANSWERS),
            Step("add-a-solver", "From any language: files", first=1, most=1),
            Step("submit", "Make one", most=1),
            Step(own=BLANKS),
            Step("submit", "Check it", most=1),
        ],
        ["mine/solver.toml"],
    ),
    "data": Way("own data", [Step("table")], ["survey.html"], needs=("statsmodels",)),
    "paper": Way(
        "repeat and extend the paper",
        [
            Step("reproduce", "A row, by the published recipe"),
            Step("reproduce", "One cell of the paper"),
            Step("reproduce", "Figures of your own results"),
            Step("extend"),
        ],
        ["paper/report.html", "paper/figures/quality-over-time.svg"],
    ),
    "torch": Way(
        "a torch solver of one's own",
        [
            Step("torch", "From a pair to a judged network", shorter=FIRST_LOOK),
            Step("torch", "A training loop of your own"),
        ],
        ["run/config.toml"],
        torch=True,
    ),
}


def run(*command, **more):
    subprocess.run([str(part) for part in command], check=True, **more)


def install(wheel, way, folder):
    """The Python of an environment of the way's own."""
    shared = (
        ["--system-site-packages"] if way.torch else []
    )  # Debian's torch: pip's takes gigabytes
    run("/usr/bin/python3", "-m", "venv", *shared, folder / "env")
    python = folder / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, *way.needs)
    return python


def run_blocks(python, blocks, folder):
    """Runs them as one program and prints the seconds of each that ended.

    Returns how many did, what the program said aside, and its status.
    """
    program = folder / "way.py"
    program.write_text(program_of(blocks), encoding="utf-8")
    place = folder / "work"
    place.mkdir()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    home = {**environment(python), "HOME": str(folder)}
    started = time.monotonic()
    ended, aside = 0, []
    with subprocess.Popen([str(python), str(program)], cwd=place, env=home, **pipes) as process:
        reader = threading.Thread(target=lambda: aside.extend(process.stderr))
        reader.start()
        for line in process.stdout:
            if line != MARK + "\n":
                continue
            first_line = blocks[ended][1].strip().splitlines()[0]
            print(f"  {time.monotonic() - started:6.1f} s  {first_line[:80]}", flush=True)
            ended += 1
            started = time.monotonic()
        reader.join()
    return ended, [line.rstrip() for line in aside if line.strip()], process.returncode


def go(name, way, wheel):
    """Goes a way; whether it came to its end."""
    print(f"{name}: {way.title}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        started = time.monotonic()
        python = install(wheel, way, folder)
        print(f"  {time.monotonic() - started:6.1f} s  install", flush=True)
        blocks = [block for step in way.steps for block in step.code()]
        ended, aside, status = run_blocks(python, blocks, folder)
        missing = [file for file in way.ends_with if not (folder / "work" / file).exists()]
        print(f"  {(time.monotonic() - started) / 60:6.1f} min, {ended} of {len(blocks)} blocks")
    for line in aside[-40:]:
        print(f"  aside: {line}")
    if ended < len(blocks):
        print(f"  FAILED with status {status} in:\n{blocks[ended][1]}")
    for file in missing:
        print(f"  FAILED: there is no {file}")
    return status == 0 and not missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    arguments = parser.parse_args()
    wheel = arguments.wheel.resolve()
    ended = [go(name, WAYS[name], wheel) for name in arguments.ways]
    return 0 if all(ended) else 1


if __name__ == "__main__":
    sys.exit(main())
