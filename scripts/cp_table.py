#!/usr/bin/env python3
"""results/dlightsb/table.md from the lines that scripts/cp_quality.py measured."""
import csv
import json
import pathlib

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = ROOT / "results" / "dlightsb"
METHODS = {"dlightsb": "DLightSB", "dlightsb-m": "DLightSB-M"}


def published():
    """(method, loss, steps, pair) -> the paper's conditional shape score; only spread pairs have one."""
    cells = {}
    with open(ROOT / "bridgemark/report/data/published.csv") as file:
        for row in csv.DictReader(file):
            if row["table"] != "conditional_shape_score":
                continue
            for column, value in row.items():
                if column.startswith("d") and column[1].isdigit() and value:
                    pair = column.replace("_", "-") + "-spread"
                    cells[row["method"], row["loss"], row["steps"], pair] = float(value)
    return cells


def main():
    paper = published()
    oracle = {}
    for line in (ROOT / "results/paper/results.jsonl").read_text().splitlines():
        cell = json.loads(line)
        if cell["solver"] == "oracle" and cell["score"] == "conditional_shape_score":
            oracle[cell["pair"]] = cell["value"]
    lines = [
        "# DLightSB and DLightSB-M, measured",
        "",
        "Made by `scripts/cp_quality.py results/dlightsb/runs.txt results/dlightsb/runs.jsonl` and",
        "`scripts/cp_table.py`; `runs.jsonl` holds each run's whole configuration, seed, time and",
        "machine. Seconds are of training; runs at D = 64 had the device to themselves, the others shared it with up to seven.",
        "",
        "| solver | pair | set | updates | seconds | device | conditional shape | Oracle | paper | exact shape | joint KL | forward KL |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for line in (FOLDER / "runs.jsonl").read_text().splitlines():
        record = json.loads(line)
        solver, pair, *sets = record["run"].split()
        train, scores = record["train"], record["scores"]
        options = train["options"]
        key = (METHODS[solver], "", "", pair)
        if solver == "dlightsb-m":
            key = (METHODS[solver], options["loss"].upper(), options["num_steps"], pair)
        cell = paper.get(key)
        lines.append("| " + " | ".join([
            METHODS[solver] + (f" {options['num_steps']} steps" if "num_steps" in options else ""),
            pair, " ".join(s for s in sets if not s.startswith("num_steps")),
            options["updates"], f"{train['diagnostics']['training_seconds']:.1f}", train["device"],
            f"{scores['conditional_shape_score']:.4f}",
            f"{oracle[pair]:.4f}" if pair in oracle else "", f"{cell:.3f}" if cell else "",
            f"{scores['exact_conditional_shape_score']:.4f}", f"{scores['joint_kl']:.4f}",
            f"{scores['forward_trajectory_kl']:.4f}"]) + " |")
    (FOLDER / "table.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
