#!/usr/bin/env python3
"""Prints the table of results/spread/README.md: the network solvers beside the published cells."""
import csv
import json
import pathlib

ROOT = pathlib.Path(__file__).parent.parent
SCORE = "conditional_shape_score"


def published():
    """(method, loss, steps, pair) -> the paper's conditional shape score."""
    cells = {}
    with open(ROOT / "bridgemark/report/data/published.csv") as file:
        for row in csv.DictReader(file):
            for column, value in row.items():
                if row["table"] == SCORE and column[1:2].isdigit():
                    pair = column.replace("_", "-") + "-spread"
                    cells[row["method"], row["loss"], row["steps"], pair] = float(value)
    return cells


def main():
    paper = published()
    lines = [json.loads(line) for line in (ROOT / "results/spread/results.jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["score"] == SCORE]
    value = {(line["solver"], line["pair"]): line["value"] for line in lines}
    print("| pair | solver | ours | published | Oracle | Independent, ours | published | share, ours | training, s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for line in lines:
        if line["solver"] not in ("csbm", "alpha-csbm"):
            continue
        pair = line["pair"]
        method = "alpha-CSBM" if line["solver"] == "alpha-csbm" else "CSBM"
        cell = paper[method, line["loss"].upper(), line["num_steps"], pair]
        low, high = value["independent", pair], value["oracle", pair]
        print("| " + " | ".join([
            pair, method.replace("alpha", "α"), f"{line['value']:.3f}", f"{cell:.3f}", f"{high:.3f}", f"{low:.3f}",
            f"{paper['Independent', '', '', pair]:.3f}", f"{(line['value'] - low) / (high - low):.2f}",
            f"{line['train_seconds']:.1f}"]) + " |")


if __name__ == "__main__":
    main()
