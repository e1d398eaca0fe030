#!/usr/bin/env python3
"""What Python costs: drawing 1,000,000 pairs through the package and natively, taking turns.

    PYTHON bench/python_overhead.py [--program build/sampling_bench]

PYTHON has bridgemark installed. The native program draws on request, so that what else runs on the
machine hits both alike. Exits 1 where the median of the ratios is above the limit.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

LIMIT = 1.05
COUNT = 1_000_000
PAIRS = ["d2-gaussian-0.02", "d16-gaussian-0.02"]


class Native:
    """bench/sampling_bench, which draws a pair once for each line it is sent."""

    def __init__(self, program, threads):
        command = [program, "--on-request", "--threads", str(threads), "--pair", *PAIRS]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, pair):
        self.process.stdin.write(f"{PAIRS.index(pair)} {COUNT}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def python_seconds(pair):
    started = time.perf_counter()
    pair.sample_joint(COUNT, seed=2)
    return time.perf_counter() - started


def check(pair):
    """Rows of a draw do not depend on their number, and no state leaves its range."""
    x0, x1 = pair.sample_joint(20_000, seed=2)
    few0, few1 = pair.sample_joint(100, seed=2)
    assert (x0[:100] == few0).all() and (x1[:100] == few1).all()
    assert x1.min() >= 0 and x1.max() < pair.num_categories


def main():
    root = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(root / "build" / "sampling_bench"))
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", help="also write the numbers to this file")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # read when the native part is loaded
    import bridgemark as bm

    native = Native(arguments.program, arguments.threads)
    cases = []
    print(f"{'pair':<20} {'native ms':>10} {'python ms':>10} {'ratio':>7}   lowest, highest")
    for name in PAIRS:
        pair = bm.load(name)
        check(pair)
        native.seconds(name), python_seconds(pair)  # warm
        turns = [(native.seconds(name), python_seconds(pair)) for _ in range(arguments.repeats)]
        ratios = sorted(ours / theirs for theirs, ours in turns)
        times = [1e3 * statistics.median(column) for column in zip(*turns)]
        ratio = statistics.median(ratios)
        cases.append({"pair": name, "native_ms": times[0], "python_ms": times[1], "ratio": ratio})
        print(
            f"{name:<20} {times[0]:>10.1f} {times[1]:>10.1f} {ratio:>7.3f}   "
            f"{ratios[0]:.3f}, {ratios[-1]:.3f}"
        )
    native.close()
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"bench": "python_overhead", "cases": cases}))
    worst = max(case["ratio"] for case in cases)
    print(f"python / native: {worst:.3f} (limit {LIMIT}): {'ok' if worst <= LIMIT else 'FAILED'}")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
