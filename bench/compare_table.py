#!/usr/bin/env python3
"""Prints the table of compare_peer.sh from the JSON files of its rounds; exits 1 past a limit."""

import json
import os
import statistics
import sys
from pathlib import Path

MIN_SPEEDUP = 30.0  # D = 16, 20,000 pairs
MAX_DIM_RATIO = 5.0  # our time at D = 64 over that at D = 16, 20,000 pairs
COUNT = 20000


def read_rounds(folder, who):
    """[{(dim, count): (pair, seconds)}], one for each round."""
    rounds = []
    for path in sorted(Path(folder).glob(f"{who}-*.json")):
        cases = json.loads(path.read_text())["cases"]
        rounds.append({(c["dim"], c["count"]): (c["pair"], c["median_seconds"]) for c in cases})
    return rounds


def middle(rounds, key):
    return statistics.median(cases[key][1] for cases in rounds)


def verdict(name, value, relation, limit, holds):
    print(f"{name}: {value:.1f} ({relation} {limit:g}): {'ok' if holds else 'FAILED'}")
    return holds


def main():
    peer, ours = read_rounds(sys.argv[1], "peer"), read_rounds(sys.argv[1], "ours")
    print(f"{'pair':<20} {'n':>6} {'peer ms':>9} {'ours ms':>9} {'ratio':>7}   ratio by round")
    ratios = {}
    for key in sorted(ours[0]):
        by_round = [p[key][1] / o[key][1] for p, o in zip(peer, ours)]
        ratios[key] = statistics.median(by_round)
        print(f"{ours[0][key][0]:<20} {key[1]:>6} {1e3 * middle(peer, key):>9.1f} "
              f"{1e3 * middle(ours, key):>9.2f} {ratios[key]:>7.1f}   "
              + " ".join(f"{ratio:.1f}" for ratio in by_round))
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load average of the last minute {load:.1f}; "
          "times are medians, the ratio that of the middle round")
    dims = statistics.median(o[64, COUNT][1] / o[16, COUNT][1] for o in ours)
    speedup = ratios[16, COUNT]
    holds = [
        verdict(f"times faster at D = 16, n = {COUNT}", speedup, "at least", MIN_SPEEDUP,
                speedup >= MIN_SPEEDUP),
        verdict(f"our time D = 64 / D = 16, n = {COUNT}", dims, "at most", MAX_DIM_RATIO,
                dims <= MAX_DIM_RATIO),
    ]
    sys.exit(0 if all(holds) else 1)


if __name__ == "__main__":
    main()
