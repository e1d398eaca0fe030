#!/usr/bin/env python3
"""Runs shared grids on a disk and a clock that fail, and compares their results with one machine's.

    tests/system/chaos_test.py build/bridgemark [--faults 100] [--runs 24] [--workers 2] [--seed 1]

Workers share a grid while calls of theirs fail (faults.c, by LD_PRELOAD): the disk is full, broken
or slow, renames and links take long or lose their answer, the clock of the day jumps, signals
interrupt writes. Folders of runs vanish for a moment or for good meanwhile. A worker that gives up
does so with status 2 and one line, or with status 1 where runs failed, and is started again. Each
grid must end with every run there once and the results of a grid that one process made on a good
disk, and leave no claim, no lock and no temporary file. Exits 1 where not.
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from grid_results import difference, left_behind, write_experiment

STALE_SECONDS = 2.0
# What a grid's disk and clock do: kinds of faults.c, and the calls in a million that have one.
WEATHERS = [
    ("d", 20000),
    ("e", 100000),
    ("r", 150000),
    ("l", 60000),
    ("s", 150000),
    ("c", 500000),
    ("i", 300000),
    ("derlsci", 30000),
]
MOST_STARTS = 60  # of one grid's workers


class Grid:
    """Workers of one folder, until the grid is done."""

    def __init__(self, program, experiment, folder, shim, draw, workers):
        self.folder, self.draw, self.log = folder, draw, folder.parent / "faults.log"
        self.command = [program, "run", experiment, "-o", folder]
        self.command += ["--jobs", "1", "--threads", "1", "--stale-after", str(STALE_SECONDS)]
        self.kinds, self.rate = draw.choice(WEATHERS)
        self.environment = {
            **os.environ,
            "LD_PRELOAD": str(shim),
            "FAULTS_ROOT": str(folder),
            "FAULTS_KINDS": self.kinds,
            "FAULTS_RATE": str(self.rate),
            "FAULTS_LOG": str(self.log),
        }
        self.workers, self.starts, self.vanished, self.gave_up = workers, 0, 0, 0

    def start(self, number):
        again = ["--resume"] if self.starts >= self.workers else []  # makes failed runs anew
        self.starts += 1
        self.environment["FAULTS_SEED"] = str(self.draw.getrandbits(32))
        return subprocess.Popen(
            [*self.command, "--shard", f"{number}/{self.workers}", *again],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def vanish(self):
        """Takes a run's folder away: for a moment, or for good."""
        runs = [path for path in self.folder.glob("runs/*") if path.is_dir()]
        if not runs:
            return
        run, away = self.draw.choice(runs), self.folder.parent / "away"
        try:
            run.rename(away)
        except OSError:
            return
        self.vanished += 1
        time.sleep(self.draw.uniform(0.0, 0.3))
        try:
            if self.draw.random() < 0.5 or run.exists():
                raise OSError
            away.rename(run)
        except OSError:
            shutil.rmtree(away)

    def finish(self):
        """What went wrong."""
        at_work = {number: self.start(number) for number in range(1, self.workers + 1)}
        while at_work:
            time.sleep(0.1)
            if self.draw.random() < 0.05:
                self.vanish()
            for number, worker in list(at_work.items()):
                if worker.poll() is None:
                    continue
                said = [line for line in worker.stderr.read().splitlines() if line]
                lines = [line for line in said if line.startswith("bridgemark: ")]
                if worker.returncode == 0:
                    del at_work[number]
                elif worker.returncode != 1 and (worker.returncode != 2 or len(lines) != 1):
                    return f"a worker ended with {worker.returncode}: {said}"
                elif self.starts >= MOST_STARTS:
                    del at_work[number]  # what is left is made on a good disk
                else:
                    self.gave_up += 1
                    at_work[number] = self.start(number)
        return ""


def compile_shim(folder):
    source = pathlib.Path(__file__).with_name("faults.c")
    shim = folder / "faults.so"
    subprocess.run(
        ["cc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", shim, source, "-ldl"],
        check=True,
    )
    return shim


def run(command, **others):
    return subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **others
    )


def judge(grid, program, experiment, one):
    """What is wrong with a grid in the end, once a worker on a good disk made what was left."""
    last = run([*grid.command, "--resume", "--shard", f"1/{grid.workers}"])
    if last.returncode != 0:
        return f"on a good disk it ends with {last.returncode}: {last.stderr}"
    return difference(program, grid.folder, one) or left_behind(grid.folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    program, draw = arguments.program.resolve(), random.Random(arguments.seed)
    faults, failed, grids = collections.Counter(), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        experiment = write_experiment(program, folder, arguments.runs)
        run([program, "run", experiment, "-o", folder / "one"], check=True)
        shim = compile_shim(folder)
        while sum(faults.values()) < arguments.faults and not failed:
            grids += 1
            place = folder / f"grid{grids}"
            place.mkdir()
            grid = Grid(program, experiment, place / "shared", shim, draw, arguments.workers)
            wrong = grid.finish() or judge(grid, program, experiment, folder / "one")
            struck = grid.log.read_text().split("\n")[:-1] if grid.log.exists() else []
            faults.update(struck)
            faults["- folder vanished"] += grid.vanished
            print(
                f"grid {grids}: {len(struck)} faults of {grid.kinds}, {grid.vanished} folders "
                f"vanished, {grid.gave_up} workers gave up: {wrong or 'the same tables'}",
                flush=True,
            )
            failed += bool(wrong)
            if not wrong:
                shutil.rmtree(place)
        if failed:
            kept = pathlib.Path(tempfile.mkdtemp(prefix="chaos-"))
            shutil.copytree(place, kept / "grid")
            print(f"the grid is kept in {kept}")
    for fault, count in sorted(faults.items()):
        print(f"  {count:6d} {fault}")
    end = "FAILED" if failed else "the same tables"
    print(f"{sum(faults.values())} faults in {grids} grids: {end}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
