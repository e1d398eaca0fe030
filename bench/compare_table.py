#!/usr/bin/env python3
"""Prints the table of compare_peer.sh from the JSON files of its programs; exits 1 past a limit."""

import json
import os
import statistics
import sys
from pathlib import Path

MIN_SPEEDUP = 30.0  # D = 16, 20,000 pairs
MAX_DIM_RATIO = 5.0  # our time at D = 64 over that at D = 16, 20,000 pairs
COUNT = 20000


def verdict(text, holds):
    print(f"{text}: {'ok' if holds else 'FAILED'}")
    return holds


def main():
    peer, ours = (json.loads(Path(path).read_text()) for path in sys.argv[1:3])
    print(f"{'pair':<20} {'n':>6} {'peer ms':>9} {'ours ms':>9} {'ratio':>7}   lowest, highest")
    ratios = {}
    for case in peer["cases"]:
        turns = [p / o for p, o in zip(case["seconds"], case["ours_seconds"])]
        ratios[case["dim"], case["count"]] = statistics.median(turns)
        print(
            f"{case['pair']:<20} {case['count']:>6} "
            f"{1e3 * statistics.median(case['seconds']):>9.1f} "
            f"{1e3 * statistics.median(case['ours_seconds']):>9.2f} "
            f"{statistics.median(turns):>7.1f}   {min(turns):.1f}, {max(turns):.1f}"
        )
    print(
        f"medians of {len(turns)} turns; ratio within a turn; catsbench {peer['catsbench']}, torch "
        f"{peer['torch']}; {peer['threads']} threads, {os.cpu_count()} cores, load average "
        f"{peer['load_average']:.1f}"
    )
    speedup = ratios[16, COUNT]
    dims = next(c["ratio"] for c in ours["dim_ratio"] if c["count"] == COUNT)
    holds = [
        verdict(
            f"D = 16, n = {COUNT}: {speedup:.1f} times faster (at least {MIN_SPEEDUP:g})",
            speedup >= MIN_SPEEDUP,
        ),
        verdict(
            f"D = 64, n = {COUNT}: {dims:.2f} times our D = 16 (at most {MAX_DIM_RATIO:g})",
            dims <= MAX_DIM_RATIO,
        ),
    ]
    sys.exit(0 if all(holds) else 1)


if __name__ == "__main__":
    main()
