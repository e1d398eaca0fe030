#!/usr/bin/env python3
"""What do paired comparisons separate? The Oracle against itself, and against planted defects.

  studies/oracle_ties.py measure PAIR... -o OUT.jsonl [--comparisons 200]   adds a line a pair
  studies/oracle_ties.py table OUT.jsonl

Every Oracle answers with draws of its own on the same test inputs and against the same draws of
the truth, as two solvers do in a table. Needs the Python package and NumPy. What OUT has is not
measured again.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import bridgemark as bm
from score_defects import IgnoresX0

SCORES = {  # shown, in this order
    "conditional_shape_score": "cond. shape",
    "conditional_trend_score": "cond. trend",
    "sampled_conditional_shape_score": "sampled cond. shape",
    "shape_score": "shape",
    "trend_score": "trend",
    "exact_conditional_shape_score": "exact cond. shape",
    "joint_kl": "joint KL",
}
SIZES = (0.003, 0.01, 0.03, 0.1)  # share of answers that are to another, fixed x0
DEFECT_DRAWS = 20  # of each size
COLUMN = 10  # equally good rows in a column of a table


class Redrawn:
    """A coupling whose draws are its own for each `salt`."""

    def __init__(self, coupling, salt):
        self.coupling, self.salt = coupling, salt
        self.log_marginals = coupling.log_marginals
        self.log_conditional = coupling.log_conditional

    def sample(self, x0, seed):
        return self.coupling.sample(x0, [seed, self.salt])


class Truth:
    """The Oracle as an outside solver, with all it knows."""

    def __init__(self, pair):
        self.pair = pair
        self.log_marginals, self.log_conditional = pair.log_marginals, pair.log_conditional

    def sample(self, x0, seed):
        return self.pair.sample_conditional(x0, np.random.default_rng(seed))


def separated(first, second, score):
    return bm.paired_difference(first, second, score).separated


def torn(column, score):
    """Whether the best of a column of Oracles is separated from another one."""
    sign = -1 if score == "joint_kl" else 1
    best = max(column, key=lambda result: sign * result[score])
    return any(separated(best, other, score) for other in column)


def measure_pair(name, comparisons):
    pair = bm.load(name)
    truth = Truth(pair)
    oracles = [bm.evaluate(pair, Redrawn(truth, i)) for i in range(comparisons + 1)]
    neighbours = list(zip(oracles, oracles[1:]))
    columns = [oracles[i : i + COLUMN] for i in range(0, comparisons - COLUMN + 1, COLUMN)]
    line = {"pair": name, "comparisons": comparisons, "columns": len(columns), "scores": {}}
    for score in SCORES:
        gaps = [bm.paired_difference(a, b, score).half_width for a, b in neighbours]
        line["scores"][score] = {
            "separated": sum(separated(a, b, score) for a, b in neighbours),
            "torn": sum(torn(column, score) for column in columns),
            "smallest_gap": float(np.median(gaps)),
            "told": {},
        }
    for size in SIZES:
        defect = IgnoresX0(pair, size)
        wrong = [bm.evaluate(pair, Redrawn(defect, 10**6 + i)) for i in range(DEFECT_DRAWS)]
        for score, found in line["scores"].items():
            told = sum(separated(a, b, score) for a, b in zip(oracles, wrong))
            found["told"][f"{size:g}"] = told
    return line


def measure(pairs, out, comparisons):
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {line["pair"] for line in lines}
    for name in pairs:
        if name in done:
            continue
        line = measure_pair(name, comparisons)
        with out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(name, flush=True)


def table(path):
    for line in map(json.loads, path.read_text().splitlines()):
        head = [line["pair"], f"separated of {line['comparisons']}", f"torn of {line['columns']}"]
        head += ["smallest gap", *(f"{size:g} wrong, told of {DEFECT_DRAWS}" for size in SIZES)]
        print("\n| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
        for score, title in SCORES.items():
            found = line["scores"][score]
            gap = found["smallest_gap"]  # 0 between closed forms, where nothing is drawn
            row = [title, found["separated"], found["torn"], f"{gap:.2g}" if gap else "–"]
            print("| " + " | ".join(map(str, row + list(found["told"].values()))) + " |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("pairs", nargs="+")
    measuring.add_argument("-o", "--out", type=Path, required=True)
    measuring.add_argument("--comparisons", type=int, default=200)
    commands.add_parser("table").add_argument("out", type=Path)
    options = parser.parse_args()
    if options.command == "measure":
        measure(options.pairs, options.out, options.comparisons)
    else:
        table(options.out)


if __name__ == "__main__":
    main()
