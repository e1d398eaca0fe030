#!/usr/bin/env python3
"""Prints the tables of results/sphere/README.md."""
import json
import statistics

from spread_table import ROOT, SCORE, published

EXACT = "exact_conditional_shape_score"
PAPER = ", published recipe"
FROM_P1 = PAPER + ", start on p1"


def measured():
    """(method, loss, steps, pair, score) -> the values of its training seeds, in their order."""
    cells = {}
    for line in (ROOT / "results/sphere/results.jsonl").read_text().splitlines():
        line = json.loads(line)
        key = line["method"], line["loss"], line["num_steps"], line["pair"], line["score"]
        cells.setdefault(key, []).append(line["value"])
    return cells


def row(*words):
    print("| " + " | ".join(words) + " |")


def head(*words):
    row(*words)
    row(*["---"] * len(words))


def main():
    cells, paper = measured(), published()
    pairs = [f"d{dim}-{reference}" for dim in (2, 16, 64)
             for reference in ("gaussian-0.02", "gaussian-0.05", "uniform-0.005", "uniform-0.01")]
    default = [("DLightSB", "", ""), ("DLightSB-M", "kl", "64"), ("DLightSB-M", "kl", "16"),
               ("DLightSB-M", "mse", "64")]

    def text(method, pair, score):
        return ", ".join(f"{value:.4f}" for value in cells.get((*method, pair, score), []))

    head("pair", *(", ".join(filter(None, (name, loss.upper(), steps))) for name, loss, steps in default))
    for pair in pairs:
        row(pair, *(text(method, pair, EXACT) for method in default))
    print()

    head("pair", "solver", "ours", "Oracle, ours", "published", "exact, ours")
    for name, loss, steps in default[:2]:
        for pair in pairs:
            ours = cells.get((name + PAPER, loss, steps, pair, SCORE))
            if ours:
                row(pair, name, f"{statistics.mean(ours):.3f}",
                    f"{cells['Oracle', '', '', pair, SCORE][0]:.3f}",
                    f"{paper[name, loss.upper(), steps, pair + '-spread']:.3f}",
                    text((name + PAPER, loss, steps), pair, EXACT))
    print()

    head("pair", "score", "start on p0, seeds 0 to 2", "start on p1, seeds 0 to 2")
    scores = {SCORE: "conditional shape", EXACT: "exact conditional shape", "joint_kl": "joint KL"}
    for pair in ("d2-gaussian-0.02", "d16-gaussian-0.02"):
        for score, name in scores.items():
            row(pair, name, *(text(("DLightSB-M" + start, "kl", "64"), pair, score)
                              for start in (PAPER, FROM_P1)))


if __name__ == "__main__":
    main()
