"""What the tests of shared grids have in common: a grid of tiny runs, and what must hold of it."""

import json
import os
import subprocess

EXPERIMENT = """name = "tiny"
[evaluation]
trajectories = 2
conditional_samples = 2
[[grid]]
pairs = ["{pair}"]
solvers = ["dlightsb"]
seeds = {seeds}
[grid.options]
updates = 20
components = 3
batch_size = 8
checkpoint_every = 0
"""
# What no two makings of a run share.
OF_THE_MACHINE = ("train_seconds", "evaluate_seconds", "peak_memory_bytes", "machine", "threads")


def write_experiment(program, folder, runs):
    """A grid of so many runs of a fraction of a second each; its file."""
    pair = folder / "pair"
    subprocess.run(
        [
            program,
            "build",
            "custom",
            "--categories",
            "8",
            "--sigma",
            "0.8",
            "--gamma",
            "0.2",
            "-o",
            pair,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    experiment = folder / "tiny.toml"
    experiment.write_text(EXPERIMENT.format(pair=pair, seeds=list(range(runs))))
    return experiment


def results(folder):
    """The lines without what belongs to the machine that made them, in their order."""
    lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    for line in lines:
        for key in ("training_seconds", "resumed_from"):
            line["diagnostics"].pop(key, None)
    return [{key: line[key] for key in line if key not in OF_THE_MACHINE} for line in lines]


def tables(program, folder):
    """The report's tables, all that they print."""
    subprocess.run(
        [program, "report", folder, "-o", folder / "report.html", "--tables-only"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return [(folder / f"tables.{kind}").read_text() for kind in ("md", "tex", "csv")]


def difference(program, folder, one):
    """How a grid's results differ from those of one machine, whose folder is `one`; a text."""
    if results(one) != results(folder):
        return "the results differ from those of one process"
    if tables(program, one) != tables(program, folder):
        return "the tables differ from those of one process"
    return ""


def left_behind(folder):
    """What ended workers must not leave: claims, a lock, temporaries; a text, empty where none."""
    # Workers that were killed leave files of their own, which nobody takes for a claim.
    left = [path.name for path in (folder / "claims").iterdir() if not path.name.startswith(".")]
    left += [path.name for path in folder.glob("lock")]
    left += [path.name for path in folder.rglob(".*.tmp-*")]
    return f"left behind: {', '.join(left)}" if left else ""


class ScoredOnce:
    """Looks now and then whether a run that had its scores was scored again."""

    def __init__(self, folder):
        self.runs, self.seen, self.wrong = folder / "runs", {}, ""

    def look(self):
        if not self.runs.exists():
            return
        for entry in os.scandir(self.runs):
            try:
                written = os.stat(os.path.join(entry.path, "scores.json")).st_mtime_ns
            except FileNotFoundError:
                continue
            if self.seen.setdefault(entry.name, written) != written:
                self.wrong = f"{entry.name} was made twice"
