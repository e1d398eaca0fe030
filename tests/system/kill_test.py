#!/usr/bin/env python3
"""Kills trainings, grids and reports at random moments and compares what they end in.

    tests/system/kill_test.py build/bridgemark [--kills 20] [--seed 1]

Each job is started, killed (SIGKILL, SIGTERM or SIGINT) after a random time and started again with
--resume until its share of kills is spent; then it runs to its end. A training must end in the
parameters of one that nobody killed, a grid in its scores, a report in its tables; and no temporary
file may be left. Exits 1 where one does not.
"""

import argparse
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

EXPERIMENT = """name = "kills"
[evaluation]
trajectories = 20
[[grid]]
pairs = ["{pair}"]
solvers = ["oracle", "reference"]
[[grid]]
pairs = ["{pair}"]
solvers = ["dlightsb", "dlightsb-m"]
[grid.options]
updates = 100
components = 20
batch_size = 32
checkpoint_every = 0
log_every = 7
"""
# Trainings whose checkpoints differ in kind.
CP = ["updates=400", "components=40", "batch_size=32"]
TRAININGS = {
    "dlightsb": CP,
    "dlightsb-m": CP,
    "dlightsb-chain": ["updates=200", "states=8", "batch_size=32"],
    "dlightsb-tree": ["updates=200", "states=8", "batch_size=32"],
    "csbm": [
        "updates_first=60",
        "updates_later=20",
        "imf_iterations=3",
        "batch_size=16",
        "num_steps=8",
        "hidden=16,16",
        "initial_pairs=1024",
        "initial_batch=64",
    ],
}


class Job:
    """A command that is killed, resumed and finished, and compared with an undisturbed one."""

    def __init__(self, name, command, output, resume, outcome, whole):
        self.name, self.command, self.outcome = name, [*command, output], outcome
        self.output, self.resume = output, resume
        started = time.monotonic()
        run(whole, check=True)
        self.seconds = time.monotonic() - started

    def start(self):
        resume = self.resume if self.output.exists() else []
        return subprocess.Popen(
            self.command + resume, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )


def run(command, check=False):
    return subprocess.run(
        command, check=check, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def scores(folder):
    lines = (folder / "results.jsonl").read_text().splitlines()
    return [[line["run"], line["scores"]["values"]] for line in map(json.loads, lines)]


def log_lines(folder):
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [(line["update"], line["loss"]) for line in lines]


def make_jobs(program, folder):
    pair = folder / "pair"
    run(
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
    )
    experiment = folder / "kills.toml"
    experiment.write_text(EXPERIMENT.format(pair=pair))
    jobs = []
    for solver, options in TRAININGS.items():
        sets = [["--set", option] for option in (*options, "log_every=7", "checkpoint_every=0")]
        train = [program, "train", solver, "--pair", pair, *sum(sets, []), "-o"]
        whole, killed = folder / f"{solver}-whole", folder / f"{solver}-killed"
        jobs.append(
            Job(
                solver,
                train,
                killed,
                ["--resume"],
                lambda whole=whole, killed=killed: (
                    (whole / "model.safetensors").read_bytes()
                    == (killed / "model.safetensors").read_bytes()
                    and log_lines(whole) == log_lines(killed)
                ),
                [*train, whole],
            )
        )
    grid = [program, "run", experiment, "-o"]
    jobs.append(
        Job(
            "run",
            grid,
            folder / "grid-killed",
            ["--resume"],
            lambda: scores(folder / "grid-whole") == scores(folder / "grid-killed"),
            [*grid, folder / "grid-whole"],
        )
    )
    report = [program, "report", folder / "grid-whole", "-o"]
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    jobs.append(
        Job(
            "report",
            report,
            folder / "b" / "report.html",
            [],
            lambda: all(
                (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()
                for name in ("tables.md", "tables.csv", "tables.tex")
            ),
            [*report, folder / "a" / "report.html"],
        )
    )
    return jobs


def kill_and_finish(job, kills, draw):
    """What went wrong; a job that is done before its kill starts anew."""
    while kills > 0:
        process = job.start()
        try:
            error = process.communicate(timeout=draw.uniform(0.0, job.seconds))[1]
            if process.returncode != 0:
                return f"ended with {process.returncode}: {error}"
            if job.output.is_dir():
                shutil.rmtree(job.output)
        except subprocess.TimeoutExpired:
            process.send_signal(draw.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
            process.communicate(timeout=60)
            kills -= 1
    last = run(job.command + (job.resume if job.output.exists() else []))
    if last.returncode != 0:
        return f"the last one ended with {last.returncode}: {last.stderr}"
    return "" if job.outcome() else "ended in something else"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        jobs = make_jobs(arguments.program.resolve(), folder)
        for number, job in enumerate(jobs):
            kills = arguments.kills // len(jobs) + (number < arguments.kills % len(jobs))
            wrong = kill_and_finish(job, kills, draw)
            print(f"{job.name}: {kills} kills: {wrong or 'the same'}", flush=True)
            failed += bool(wrong)
        left = [path for path in folder.rglob("*") if ".tmp-" in path.name or path.name == "lock"]
        print(f"temporary files left: {len(left)}" + "".join(f"\n  {path}" for path in left))
        failed += bool(left)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
