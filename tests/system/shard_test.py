#!/usr/bin/env python3
"""Kills workers that share a grid at random moments and compares its results with one machine's.

    tests/system/shard_test.py build/bridgemark [--runs 60] [--shards 3] [--kills 8] [--seed 1]

A killed worker is started again, at once or after the others have taken its runs over; some are
only stopped for that long and go on. In the end every run must be there once, scored once, with the
results of a grid that one process made, but for times, memory and machines; and no claim, no lock
and no temporary file may be left. Exits 1 where not.
"""

import argparse
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from grid_results import ScoredOnce, difference, left_behind, write_experiment

STALE_SECONDS = 2.0


def start(program, experiment, folder, number, shards):
    return subprocess.Popen(
        [
            program,
            "run",
            experiment,
            "-o",
            folder,
            "--shard",
            f"{number}/{shards}",
            "--jobs",
            "1",
            "--threads",
            "1",
            "--stale-after",
            str(STALE_SECONDS),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def disturb(worker, draw):
    """Kills the worker, or stops it like a machine that sleeps; seconds until it is to go on."""
    silence = draw.choice([0.0, 0.0, 1.5 * STALE_SECONDS])
    if silence and draw.random() < 0.5:
        worker.send_signal(signal.SIGSTOP)
    else:
        worker.send_signal(signal.SIGKILL)
        worker.communicate(timeout=60)
    return silence


def kill_some(program, experiment, folder, arguments, seconds, scored):
    """Until the workers are done; what went wrong. Kills fall within about so many seconds."""
    draw, shards, kills = random.Random(arguments.seed), arguments.shards, arguments.kills
    workers = {
        number: start(program, experiment, folder, number, shards)
        for number in range(1, shards + 1)
    }
    away, done, next_kill = {}, set(), time.monotonic()  # away: when it goes on
    while len(done) < shards:
        time.sleep(0.1)
        scored.look()
        now = time.monotonic()
        for number in [number for number in away if away[number] <= now]:
            del away[number]
            if workers[number].returncode is None:
                workers[number].send_signal(signal.SIGCONT)
            else:
                workers[number] = start(program, experiment, folder, number, shards)
        at_work = [number for number in workers if number not in away and number not in done]
        for number in at_work:
            worker = workers[number]
            if worker.poll() is not None:
                if worker.returncode != 0:
                    return f"worker {number} ended with {worker.returncode}: {worker.stderr.read()}"
                done.add(number)
        at_work = [number for number in at_work if number not in done]
        if kills and at_work and now >= next_kill:
            kills -= 1
            next_kill = now + draw.uniform(0.3, 1.7) * seconds / arguments.kills
            number = draw.choice(at_work)
            away[number] = now + disturb(workers[number], draw)
    return f"{kills} kills were not used" if kills else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        experiment = write_experiment(program, folder, arguments.runs)
        started = time.monotonic()
        subprocess.run(
            [program, "run", experiment, "-o", folder / "one"],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        alone = time.monotonic() - started
        shared = folder / "shared"
        scored = ScoredOnce(shared)
        wrong = kill_some(program, experiment, shared, arguments, 0.5 * alone, scored)
        scored.look()
        wrong = (
            wrong
            or difference(program, shared, folder / "one")
            or scored.wrong
            or left_behind(shared)
        )
        seconds = time.monotonic() - started - alone
    print(
        f"{arguments.runs} runs by {arguments.shards} workers with {arguments.kills} kills in "
        f"{seconds:.0f} s, by one process in {alone:.0f} s: {wrong or 'the same tables'}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
