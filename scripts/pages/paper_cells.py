#!/usr/bin/env python3
"""paper_cells.py table|figure: the tables of results/paper/README.md, and its figure published.svg
(matplotlib).

How many cells of the paper are measured, how many of them are at or above the published number, raw
or by the share of the way from Independent to the Oracle, how near the published recipe comes to
it, what loss and steps change, and how long trainings took."""

import collections
import csv
import statistics
import sys

import families
from families import COLOURS, DIMS, REFERENCES, SHAPE
from figures import GRID, pyplot, save
from published import ROOT
from result_lines import score_lines
from result_tables import head, measured, row

CELLS = 1188  # of the seven published tables
TABLES = (
    "shape_score",
    "trend_score",
    "conditional_shape_score",
    "conditional_trend_score",
    "forward_trajectory_kl",
    "reverse_trajectory_kl",
    "c2st_score",
)
RECIPE = ", published recipe"  # ends the name of a row that trains so
BASELINES = ("Independent", "Reference", "Feature-wise SB")


def load():
    """Lines of tables.csv with a published number, or of the rows that a share compares with."""
    with open(ROOT / "results/paper/tables.csv") as file:
        return [line for line in csv.DictReader(file) if line["mean"]]


def way(value, low, high):
    """The way from Independent to the Oracle; none where there is hardly any, so that rounding
    would decide.
    """
    return (value - low) / (high - low) if high - low > 0.01 else None


class Counts:
    """Of the cells of our recipes: how many a method and score have, how many of them a published
    number judges, how many reach it, and the lines below it. Baselines train nothing and have
    nothing to reach."""

    def __init__(self, lines):
        self.measured, self.judged, self.reached = (collections.Counter() for _ in range(3))
        self.below, self.distances = [], []  # the latter of baselines, from the published numbers
        self.ends = {
            (line["method"], line["score"], line["pair"]): line
            for line in lines
            if line["method"] in ("Oracle", "Independent")
        }
        for line in lines:
            published = line["published"] and line["score"] in TABLES
            if published and not line["method"].endswith(RECIPE):
                self.add(line)

    def add(self, line):
        row = line["method"], line["score"]
        self.measured[row] += 1
        if line["method"] in BASELINES:
            # Published KLs of the baselines say nothing (docs/corrections.md).
            if not line["score"].endswith("_kl"):
                self.distances.append(abs(float(line["mean"]) - float(line["published"])))
        elif line["score"] != "c2st_score":  # nor does the published C2ST
            self.judged[row] += 1
            good = self.reaches(line)
            self.reached[row] += good
            if not good:
                self.below.append(line)

    def reaches(self, line):
        """To the published digits, or by the share of the way from Independent to the Oracle."""
        score, pair, paper = line["score"], line["pair"], float(line["published"])
        ours = round(float(line["mean"]), len(line["published"].partition(".")[2]))
        if score.endswith("_kl"):
            return ours <= paper
        oracle, independent = (
            self.ends.get((name, score, pair)) for name in ("Oracle", "Independent")
        )
        if ours >= paper or not oracle or not independent or not independent["published"]:
            return ours >= paper
        high = float(oracle["mean"])
        own = way(float(line["mean"]), float(independent["mean"]), high)
        published = way(paper, float(independent["published"]), high)
        return own is not None and published is not None and own >= published

    def text(self, method, score):
        row = method, score
        if self.judged[row]:
            return f"{self.reached[row]} of {self.judged[row]}"
        return str(self.measured[row] or "")

    def total(self):
        """Cells that reach the published number, and those that it judges."""
        return sum(self.reached.values()), sum(self.judged.values())


def print_tables():
    lines = load()
    counts = Counts(lines)
    print(f"{sum(counts.measured.values())} of {CELLS} cells are measured.\n")
    print("| method | " + " | ".join(score.replace("_", " ") for score in TABLES) + " |")
    print("|" + " --- |" * (1 + len(TABLES)))
    for method in dict.fromkeys(method for method, _ in counts.measured):
        print(f"| {method} | " + " | ".join(counts.text(method, score) for score in TABLES) + " |")
    print("\nBelow the published number, of the solvers that train:\n")
    print("| score | method | loss, steps | pair | ours | published |\n|" + " --- |" * 6)
    for line in counts.below:
        where = ", ".join(filter(None, (line["loss"].upper(), line["num_steps"])))
        print(
            f"| {line['score'].replace('_', ' ')} | {line['method']} | {where} | {line['pair']} | "
            f"{float(line['mean']):.3f} | {line['published']} |"
        )
    print()
    print_recipes(lines)
    print()
    print_variants()
    print_seconds()


def print_recipes(lines):
    """How far the published recipe ends from the published number."""
    apart = collections.defaultdict(list)
    for line in lines:
        # Published KLs have one digit, too few for a distance.
        if line["published"] and line["method"].endswith(RECIPE) and line["score"] in TABLES[:4]:
            method = line["method"].removesuffix(RECIPE)
            apart[line["score"], method].append(abs(float(line["mean"]) - float(line["published"])))
    print(
        "| published recipe | method | cells | within 0.005 | within 0.02 | median distance |\n|"
        + " --- |" * 6
    )
    for (score, method), distances in apart.items():
        within = [
            str(sum(round(distance, 3) <= bound for distance in distances))
            for bound in (0.005, 0.02)
        ]
        print(
            f"| {score.replace('_', ' ')} | {method} | {len(distances)} | "
            + " | ".join(within)
            + f" | {statistics.median(distances):.3f} |"
        )


def seconds_of_trainings():
    """(method, steps) -> seconds of the updates of a cell's first training by D, the median over
    pairs and losses."""
    seconds = collections.defaultdict(dict)
    for line in score_lines(ROOT / "results/paper/results.jsonl"):
        # The reverse direction of a training that answers both is no training of its own.
        if (
            line["train_seconds"] > 0.1
            and line["seed"] == 0
            and line["method"] not in BASELINES
            and not line["method"].endswith(RECIPE)
            and not line["pair"].endswith("-reverse")
        ):
            seconds[line["method"], line["num_steps"], line["dim"]][line["run"]] = line[
                "train_seconds"
            ]
    return {
        key: {dim: statistics.median(seconds[(*key, dim)].values()) for dim in (2, 16, 64)}
        for key in dict.fromkeys(key[:2] for key in seconds)
    }


def print_seconds():
    print("| method | steps | D = 2 | D = 16 | D = 64 |\n|" + " --- |" * 5)
    for (method, steps), by_dim in seconds_of_trainings().items():
        cells = (f"{seconds:.1f}" for seconds in by_dim.values())
        print(f"| {method} | {steps} | " + " | ".join(cells) + " |")


def print_variants():
    """What loss and steps change: the share of the way, its mean over the twelve pairs and the
    worst."""
    cells = measured("paper")
    variants = [(loss, steps) for loss in ("kl", "mse") for steps in ("16", "64")]
    head("share of the way", *(f"{loss.upper()}, {steps}" for loss, steps in variants))
    for name in ("DLightSB-M", "CSBM", "α-CSBM"):
        texts = []
        for variant in variants:
            shares = [
                families.share(cells, (name, *variant), f"d{dim}-{reference}-spread")
                for dim in DIMS
                for reference in REFERENCES
            ]
            texts.append(f"{statistics.mean(shares):.2f} ({min(shares):.2f})")
        row(name, *texts)
    print()


def draw_published():
    """Our conditional shape against the published one, a point a cell of what trains."""
    points = collections.defaultdict(list)
    for line in load():
        if line["score"] == SHAPE and line["published"] and line["method"] in COLOURS:
            points[line["method"]].append((float(line["published"]), float(line["mean"])))
    figure, panel = pyplot("contest").subplots(figsize=(4.6, 4.2), layout="constrained")
    panel.plot([0.4, 1], [0.4, 1], color="#888888", linewidth=0.8, linestyle=":")
    for method, places in points.items():
        panel.plot(
            *zip(*places),
            linestyle="",
            marker="o",
            markersize=3.5,
            alpha=0.75,
            color=COLOURS[method],
            label=method,
        )
    panel.set_xlabel("conditional shape, published")
    panel.set_ylabel("conditional shape, ours")
    panel.set_xlim(0.45, 1)
    panel.set_ylim(0.45, 1)
    panel.grid(color=GRID)
    panel.legend(frameon=False, loc="lower right")
    save(figure, ROOT / "results/paper/published.svg")


def main():
    programs = {"table": print_tables, "figure": draw_published}
    if sys.argv[1:] not in ([name] for name in programs):
        sys.exit(__doc__)
    programs[sys.argv[1]]()


if __name__ == "__main__":
    main()
