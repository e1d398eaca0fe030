#!/usr/bin/env python3
"""noise_share.py: how far honest draws stay above the limit that refuses draws without noise.

A score that compares draws misses 1 by the noise of the draws. A submission is refused where it
misses 1 by less than a quarter of what the truth's draws miss (submission/score_ceilings.h). For
each group of solvers and each D this prints the smallest share of it that any score of any draws of
honest solvers had, each repetition by itself, in results/paper and results/families: the table of
docs/submit.md.
"""

import collections

from result_lines import score_lines
from result_tables import ROOT, head, row

SCORES = (
    "shape_score",
    "trend_score",
    "conditional_shape_score",
    "conditional_trend_score",
    "sampled_conditional_shape_score",
)
GROUPS = {
    "Oracle": "the truth itself",
    "Feature-wise SB": "Feature-wise SB",
    "DLightSB": "DLightSB, -M, -chain",
    "DLightSB-M": "DLightSB, -M, -chain",
    "DLightSB-chain": "DLightSB, -M, -chain",
    "CSBM": "CSBM, α-CSBM",
    "α-CSBM": "CSBM, α-CSBM",
}
DIMS = (2, 16, 64)


def lines():
    for name in ("paper", "families"):
        for line in score_lines(ROOT / "results" / name / "results.jsonl"):
            if line["score"] in SCORES and line["value"] is not None:
                yield name, line


def main():
    of_truth = {
        (name, line["pair"], line["score"]): line["value"]
        for name, line in lines()
        if line["method"] == "Oracle"
    }
    least, draws = {}, collections.Counter()
    for name, line in lines():
        group = GROUPS.get(line["method"].split(",")[0])
        ceiling = of_truth.get((name, line["pair"], line["score"]))
        if group is None or ceiling is None:
            continue
        for value in line["values"]:
            key = group, line["dim"]
            share = (1.0 - value) / (1.0 - ceiling)
            least[key] = min(share, least.get(key, share))
            draws[key] += line["score"] == SCORES[0]
    head("smallest share of the truth's noise", *(f"D = {dim}" for dim in DIMS))
    for group in dict.fromkeys(GROUPS.values()):
        cells = [
            f"{least[group, dim]:.2f} ({draws[group, dim]} draws)" if (group, dim) in least else "–"
            for dim in DIMS
        ]
        row(group, *cells)


if __name__ == "__main__":
    main()
