#!/usr/bin/env python3
"""Prints the tables of results/paper/README.md: how many cells of the paper are measured, how many of them are at
or above the published number, raw or by the share of the way from Independent to the Oracle, how near the published
recipe comes to it, and how long trainings took."""
import collections
import csv
import json
import statistics

from published import ROOT

CELLS = 1188  # of the seven published tables
TABLES = ("shape_score", "trend_score", "conditional_shape_score", "conditional_trend_score", "forward_trajectory_kl",
          "reverse_trajectory_kl", "c2st_score")
RECIPE = ", published recipe"  # ends the name of a row that trains so
BASELINES = ("Independent", "Reference", "Feature-wise SB")


def load():
    """Lines of tables.csv with a published number or of the two rows that shares are taken between."""
    with open(ROOT / "results/paper/tables.csv") as file:
        return [line for line in csv.DictReader(file) if line["mean"]]


def share(value, low, high):
    """The way from Independent to the Oracle; none where there is hardly any, so that rounding would decide."""
    return (value - low) / (high - low) if high - low > 0.01 else None


def main():
    lines = load()
    ends = {(line["method"], line["score"], line["pair"]): line for line in lines
            if line["method"] in ("Oracle", "Independent")}
    measured, judged, reached = (collections.Counter() for _ in range(3))
    below = []
    for line in lines:
        score, pair = line["score"], line["pair"]
        if not line["published"] or score not in TABLES or line["method"].endswith(RECIPE):
            continue
        row = line["method"], score
        measured[row] += 1
        is_kl = score.endswith("_kl")
        # Published KLs of the baselines and published C2ST say nothing (docs/corrections.md).
        if score == "c2st_score" or is_kl and line["method"] in BASELINES:
            continue
        judged[row] += 1
        digits = len(line["published"].partition(".")[2])
        ours, paper = round(float(line["mean"]), digits), float(line["published"])
        good = ours <= paper if is_kl else ours >= paper
        oracle, independent = (ends.get((name, score, pair)) for name in ("Oracle", "Independent"))
        if not good and not is_kl and oracle and independent and independent["published"]:
            high = float(oracle["mean"])
            own = share(float(line["mean"]), float(independent["mean"]), high)
            published = share(paper, float(independent["published"]), high)
            good = own is not None and published is not None and own >= published
        reached[row] += good
        if not good:
            below.append(line)

    methods = list(dict.fromkeys(method for method, _ in measured))
    print(f"{sum(measured.values())} of {CELLS} cells are measured.\n")
    print("| method | " + " | ".join(score.replace("_", " ") for score in TABLES) + " |")
    print("|" + " --- |" * (1 + len(TABLES)))
    for method in methods:
        cells = [f"{reached[method, score]} of {judged[method, score]}" if judged[method, score] else
                 str(measured[method, score] or "") for score in TABLES]
        print(f"| {method} | " + " | ".join(cells) + " |")
    total, good = sum(judged.values()), sum(reached.values())
    print(f"\n{good} of {total} cells whose published number is meaningful reach it: {100 * good / total:.1f} %.\n")
    trained = [line for line in below if line["method"] not in BASELINES]
    print(f"{len(below) - len(trained)} of the rest are baselines; of the solvers that train:\n")
    print("| score | method | loss, steps | pair | ours | published |\n|" + " --- |" * 6)
    for line in trained:
        where = ", ".join(filter(None, (line["loss"].upper(), line["num_steps"])))
        print(f"| {line['score'].replace('_', ' ')} | {line['method']} | {where} | {line['pair']} | "
              f"{float(line['mean']):.3f} | {line['published']} |")
    print()
    print_recipes(lines)
    print()
    print_seconds()


def print_recipes(lines):
    """How far the published recipe ends from the published number."""
    apart = collections.defaultdict(list)
    for line in lines:
        # Published KLs have one digit, too few for a distance.
        if line["published"] and line["method"].endswith(RECIPE) and line["score"] in TABLES[:4]:
            method = line["method"].removesuffix(RECIPE)
            apart[line["score"], method].append(abs(float(line["mean"]) - float(line["published"])))
    print("| published recipe | method | cells | within 0.005 | within 0.02 | median distance |\n|" + " --- |" * 6)
    for (score, method), distances in apart.items():
        within = [str(sum(round(distance, 3) <= bound for distance in distances)) for bound in (0.005, 0.02)]
        print(f"| {score.replace('_', ' ')} | {method} | {len(distances)} | " + " | ".join(within) +
              f" | {statistics.median(distances):.3f} |")


def print_seconds():
    """Of the updates of a cell's first training: the median over pairs and losses."""
    seconds = collections.defaultdict(dict)
    for line in map(json.loads, open(ROOT / "results/paper/results.jsonl")):
        # The reverse direction of a training that answers both is no training of its own.
        if (line["train_seconds"] > 0.1 and line["seed"] == 0 and line["method"] not in BASELINES and
                not line["method"].endswith(RECIPE) and not line["pair"].endswith("-reverse")):
            seconds[line["method"], line["num_steps"], line["dim"]][line["run"]] = line["train_seconds"]
    print("| method | steps | D = 2 | D = 16 | D = 64 |\n|" + " --- |" * 5)
    for method, steps in dict.fromkeys(key[:2] for key in seconds):
        cells = [f"{statistics.median(seconds[method, steps, dim].values()):.1f}" for dim in (2, 16, 64)]
        print(f"| {method} | {steps} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
