#!/usr/bin/env python3
"""Makes a grid by a Slurm of its own, breaks things meanwhile, and compares with one machine.

    tests/system/slurm_test.py build/bridgemark [--runs 200] [--runs-per-task 1] [--max-array-size
    64]
                               [--kills 8] [--seed 1]

Starts munged, slurmctld and slurmd on loopback (needs root, slurm-wlm and munge; says so and exits
0 where they are not there), submits more tasks than an array may have, kills workers, the submitter
and the node's daemon with all its tasks, and stops and starts the daemon. In the end every run must
be there once, scored once, with the tables of a grid that one process made. Exits 1 where not.
"""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from grid_results import ScoredOnce, difference, left_behind, write_experiment
from slurm_cluster import Cluster, missing

STALE_SECONDS = 2.0


def workers(folder):
    """Processes that make a task's part of the grid in the folder."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[1:3] == [b"run-part", str(folder).encode()]:
            found.append(int(entry.name))
    return found


def kill(process):
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Trouble:
    """What goes wrong while the grid is made, one thing after the other."""

    def __init__(self, cluster, folder, submit, arguments):
        self.cluster, self.folder, self.submit = cluster, folder, submit
        self.draw, self.submitter = random.Random(arguments.seed), submit()
        self.left = [self.kill_worker] * arguments.kills
        self.left += [self.kill_submitter, self.restart_daemon, self.kill_node]
        self.draw.shuffle(self.left)

    def kill_worker(self):
        at_work = workers(self.folder)
        if at_work:
            kill(self.draw.choice(at_work))
        return bool(at_work)

    def kill_submitter(self):
        self.submitter.kill()
        self.submitter.communicate()
        self.submitter = self.submit("--resume")
        return True

    def restart_daemon(self):
        self.cluster.end("slurmd")
        time.sleep(1)
        self.cluster.start_slurmd()
        return True

    def kill_node(self):
        if not workers(self.folder):
            return False
        self.cluster.end("slurmd", signal.SIGKILL)
        for process in self.cluster.step_daemons() + workers(self.folder):
            kill(process)
        time.sleep(1)
        self.cluster.start_slurmd()
        return True

    def next(self):
        """Whether the next one could be had: there may be nobody to kill just now."""
        if self.left and not self.left[-1]():
            return False
        self.left = self.left[:-1]
        return True


def make(trouble, seconds, scored):
    """Until the grid is made; what went wrong."""
    pace, next_trouble = seconds / (len(trouble.left) + 1), time.monotonic() + 3
    end = time.monotonic() + 20 * seconds + 120
    while trouble.submitter.poll() is None:
        time.sleep(0.2)
        scored.look()
        if time.monotonic() > next_trouble and trouble.next():
            next_trouble = time.monotonic() + trouble.draw.uniform(0.5, 1.5) * pace
        if time.monotonic() > end:
            trouble.submitter.kill()
            return f"not done after {20 * seconds + 120:.0f} s"
    out, err = trouble.submitter.communicate()
    if trouble.submitter.returncode != 0:
        return f"ended with {trouble.submitter.returncode}: {out} {err}"
    if trouble.left:
        return f"{len(trouble.left)} troubles were not used"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--runs-per-task", type=int, default=1)
    parser.add_argument("--max-array-size", type=int, default=64)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    reason = missing()
    if reason:
        print(f"SKIPPED: no Slurm for the test of grids on a cluster: {reason}")
        return 0
    program = arguments.program.resolve()
    tasks = -(-arguments.runs // arguments.runs_per_task)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        experiment = write_experiment(program, folder, arguments.runs)
        subprocess.run(
            [program, "run", experiment, "-o", folder / "one"],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        shared, started = folder / "shared", time.monotonic()
        with Cluster(folder / "slurm", arguments.max_array_size) as cluster:

            def submit(*more):
                return subprocess.Popen(
                    [
                        program,
                        "run",
                        experiment,
                        "-o",
                        shared,
                        "--slurm",
                        "--runs-per-task",
                        str(arguments.runs_per_task),
                        "--stale-after",
                        str(STALE_SECONDS),
                        *more,
                        "--partition=main",
                        "--time",
                        "5",
                    ],
                    env=dict(cluster.environment, TMPDIR=name),
                    text=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )

            scored, trouble = ScoredOnce(shared), Trouble(cluster, shared, submit, arguments)
            wrong = make(trouble, 0.4 * tasks, scored)
            scored.look()
            arrays = len(list((shared / "slurm").glob("*/array.json")))
        wrong = (
            wrong
            or difference(program, shared, folder / "one")
            or scored.wrong
            or left_behind(shared)
        )
        if not wrong and arrays < -(-tasks // arguments.max_array_size):
            wrong = f"only {arrays} arrays"
        seconds = time.monotonic() - started
    print(
        f"{arguments.runs} runs in {tasks} tasks, {arrays} arrays of at most "
        f"{arguments.max_array_size}, by Slurm in {seconds:.0f} s with {arguments.kills} workers "
        f"killed, the submitter and the node once, its daemon started again: "
        f"{wrong or 'the same tables'}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
