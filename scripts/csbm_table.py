#!/usr/bin/env python3
"""Table of the CSBM runs in results/csbm/runs.jsonl beside the paper's cells.

Writes results/csbm/table.md; standard library only.
"""

import csv
import json
import pathlib

ROOT = pathlib.Path(__file__).parent.parent / "results"
PAPER_UPDATES = 120_000 + 4 * 40_000
METRICS = {"conditional_shape_score": "Conditional shape",
           "conditional_trend_score": "Conditional trend",
           "forward_trajectory_kl": "Forward trajectory KL",
           "reverse_trajectory_kl": "Reverse trajectory KL"}
METHODS = {"csbm": "CSBM", "alpha-csbm": "alpha-CSBM"}


def load_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def sampled_shape(scores):
    """Draws against the truth's closed form; lines that lack the name have it under the exact one's."""
    return scores.get("sampled_conditional_shape_score") or scores["exact_conditional_shape_score"]


def main():
    runs = load_lines(ROOT / "csbm" / "runs.jsonl")
    runs.sort(key=lambda run: (run["solver"], run["num_steps"], run["pair"]))
    with open(ROOT.parent / "bridgemark/report/data/published.csv", newline="") as file:
        paper = {(row["table"], row["method"], row["loss"].lower(), row["steps"]): row
                 for row in csv.DictReader(file)}
    ceiling = {cell["pair"]: cell
               for cell in load_lines(ROOT / "baselines" / "runs.jsonl")
               if cell["solver"] == "oracle"}

    lines = ["# CSBM", "",
             "Made by `scripts/csbm_quality.sh` and `scripts/csbm_table.py`; do not edit. Raw lines with",
             "every option: runs.jsonl.", "",
             "A cell is ours, _the paper's_ on spread pairs and, for the scores, the Oracle's in brackets:",
             "the ceiling on our instance of the pair; the paper's instance is another one. KL loss. The",
             "trajectory KL is the sum over the run's own steps and D dimensions; the published code leaves",
             "out one of them.", "",
             "| pair | solver | steps | updates (share of the paper's) | "
             + " | ".join(METRICS.values()) + " | sampled shape | device | minutes |",
             "| --- " * (len(METRICS) + 7) + "|"]
    for run in runs:
        options, scores = run["train"]["options"], run["scores"]
        updates = run["train"]["diagnostics"]["updates"]
        column = run["pair"].removesuffix("-spread").replace("-", "_")
        cells = []
        for metric in METRICS:
            key = (metric, METHODS[run["solver"]], options["loss"], str(run["num_steps"]))
            cell = f"{scores[metric]:.3f}"
            if run["pair"].endswith("-spread"):
                cell += f" _{float(paper[key][column]):g}_"
            if not metric.endswith("_kl"):
                cell += f" ({ceiling[run['pair']][metric]:.3f})"
            cells.append(cell)
        lines.append(
            f"| {run['pair']} | {run['solver']} | {run['num_steps']} "
            f"| {updates:,} ({100 * updates / PAPER_UPDATES:.1f} %) | " + " | ".join(cells)
            + f" | {sampled_shape(scores):.3f} "
            f"| {run['train']['device']} | {run['train']['wall_seconds'] / 60:.0f} |")
    lines += ["", "cpu: one thread of a busy machine with 2 Arm cores (Neoverse V1); cuda: an NVIDIA H200",
              "shared with two other trainings. The minutes are wall time beside other work, not a measure",
              "of speed (see bench/README.md).",
              "Options beyond the defaults: input=embedding, learning_rate=0.001 and points=4: four points",
              "of the pinned reference for each pair, so a gradient has four times the paper's rows. Seed 0."]
    (ROOT / "csbm" / "table.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
