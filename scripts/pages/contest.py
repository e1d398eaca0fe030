#!/usr/bin/env python3
"""contest.py table|figures: what docs/contest.md reads out of results/paper and results/families.

`table` prints its tables, but for those of `judge.py contest`; `figures` draws results/paper/*.svg
and results/families/*.svg (matplotlib).
"""

import collections
import csv
import statistics
import sys

from published import ROOT
from result_tables import head, measured, row

DIMS = (2, 16, 64)
REFERENCES = ("gaussian-0.02", "gaussian-0.05", "uniform-0.005", "uniform-0.01")
FAMILIES = {"sphere": "", "spread": "-spread", "chain": "-chain", "twosided": "-twosided"}
DIRECTIONS = {"forward": "", "reverse": "-reverse"}
SHAPE = "conditional_shape_score"
# The variant of each solver that the reading compares: (method, loss, steps).
SOLVERS = {
    "DLightSB": ("DLightSB", "", ""),
    "DLightSB-M": ("DLightSB-M", "kl", "64"),
    "CSBM": ("CSBM", "kl", "16"),
    "α-CSBM": ("α-CSBM", "kl", "16"),
    "Feature-wise SB": ("Feature-wise SB", "", ""),
}
# Those of the families whose joint KL is exact.
CLOSED = {
    "Feature-wise SB": ("Feature-wise SB", "", ""),
    "DLightSB": ("DLightSB", "", ""),
    "DLightSB-M": ("DLightSB-M", "kl", "64"),
    "DLightSB-chain": ("DLightSB-chain", "", ""),
}
COLOURS = {
    "Feature-wise SB": "#E69F00",
    "DLightSB": "#0072B2",
    "DLightSB-M": "#CC79A7",
    "DLightSB-chain": "#009E73",
    "CSBM": "#D55E00",
    "α-CSBM": "#56B4E9",
}


def mean(cells, key):
    """Over trainings; none where there is no training."""
    lines = cells.get(key)
    return statistics.mean(line["value"] for line in lines) if lines else None


def share(cells, solver, pair, score=SHAPE):
    """The way from Independent to the Oracle."""
    value, low, high = (
        mean(cells, (*method, pair, score))
        for method in (solver, ("Independent", "", ""), ("Oracle", "", ""))
    )
    return None if None in (value, low, high) else (value - low) / (high - low)


def nats(value):
    """Two digits, and no more than the evaluation resolves."""
    return (
        ""
        if value is None
        else "0.000"
        if value < 0.0005
        else f"{value:.2g}"
        if value < 10
        else f"{value:.0f}"
    )


def families_table(cells):
    """Joint KL by family, direction and dimension: the median over references, and the largest."""
    head("family", "direction", "D", *CLOSED)
    for family, suffix in FAMILIES.items():
        for direction, end in DIRECTIONS.items():
            for dim in DIMS:
                texts = []
                for solver in CLOSED.values():
                    values = [
                        mean(cells, (*solver, f"d{dim}-{reference}{suffix}{end}", "joint_kl"))
                        for reference in REFERENCES
                    ]
                    texts.append(
                        ""
                        if None in values
                        else f"{nats(statistics.median(values))} ({nats(max(values))})"
                    )
                row(family, direction, str(dim), *texts)
    print()


def variants_table(cells):
    """What loss and steps change: the share, its mean over the twelve pairs and the worst."""
    head(
        "solver", *(f"{loss.upper()}, {steps}" for loss in ("kl", "mse") for steps in ("16", "64"))
    )
    for name in ("DLightSB-M", "CSBM", "α-CSBM"):
        texts = []
        for loss in ("kl", "mse"):
            for steps in ("16", "64"):
                shares = [
                    share(cells, (name, loss, steps), f"d{dim}-{reference}-spread")
                    for dim in DIMS
                    for reference in REFERENCES
                ]
                texts.append(f"{statistics.mean(shares):.2f} ({min(shares):.2f})")
        row(name, *texts)
    print()


def published_cells():
    """(method, ours, published) of the conditional shape of every row that trains."""
    with open(ROOT / "results/paper/tables.csv") as file:
        return [
            (line["method"], float(line["mean"]), float(line["published"]))
            for line in csv.DictReader(file)
            if line["score"] == SHAPE
            and line["published"]
            and line["mean"]
            and line["method"] in COLOURS
        ]


def draw_grid(plt, columns, draw, quantity, path):
    """Panels of the columns, forward above and reverse below; draw(panel, column, direction's
    suffix) fills one.
    """
    figure, panels = plt.subplots(
        2, 4, figsize=(8.4, 4.8), sharex=True, sharey=True, layout="constrained"
    )
    for line, (direction, suffix) in zip(panels, DIRECTIONS.items()):
        for panel, column in zip(line, columns):
            draw(panel, column, suffix)
            panel.set_title(f"{column}, {direction}", fontsize=9)
            panel.set_xticks(range(3), DIMS)
            panel.grid(color="#eef0f2")
        line[0].set_ylabel(quantity)
    for panel in panels[-1]:
        panel.set_xlabel("D")
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=5,
        frameon=False,
    )
    figure.savefig(ROOT / path, metadata={"Date": None})


def draw_turn(plt, cells):
    """The share of the way against the dimension."""

    def draw(panel, reference, suffix):
        for name, solver in SOLVERS.items():
            values = [share(cells, solver, f"d{dim}-{reference}-spread{suffix}") for dim in DIMS]
            if None not in values:
                panel.plot(
                    range(3),
                    values,
                    marker="o",
                    markersize=4,
                    linewidth=1.3,
                    color=COLOURS[name],
                    label=name,
                )
        panel.axhline(1, color="#888888", linewidth=0.8, linestyle=":")

    draw_grid(plt, REFERENCES, draw, "share of the way to the Oracle", "results/paper/turn.svg")


def draw_families(plt, cells):
    """Joint KL of every pair of a family, direction and dimension."""

    def draw(panel, family, suffix):
        for shift, (name, solver) in enumerate(CLOSED.items()):
            for place, dim in enumerate(DIMS):
                values = [
                    mean(
                        cells,
                        (*solver, f"d{dim}-{reference}{FAMILIES[family]}{suffix}", "joint_kl"),
                    )
                    for reference in REFERENCES
                ]
                values = [max(value, 1e-5) for value in values if value is not None]
                panel.plot(
                    [place + 0.18 * (shift - 1.5)] * len(values),
                    values,
                    linestyle="",
                    marker="o",
                    markersize=4,
                    alpha=0.8,
                    color=COLOURS[name],
                    label=name if place == 0 else None,
                )
        panel.set_yscale("log")

    draw_grid(plt, FAMILIES, draw, "joint KL, nats", "results/families/joint_kl.svg")


def draw_published(plt):
    """Our conditional shape against the published one, a point a cell."""
    points = collections.defaultdict(list)
    for method, ours, paper in published_cells():
        points[method].append((paper, ours))
    figure, panel = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
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
    panel.grid(color="#eef0f2")
    panel.legend(frameon=False, loc="lower right")
    figure.savefig(ROOT / "results/paper/published.svg", metadata={"Date": None})


def main():
    paper, families = measured("paper"), measured("families")
    if sys.argv[1:] == ["table"]:
        families_table(families)
        variants_table(paper)
    elif sys.argv[1:] == ["figures"]:
        import matplotlib

        matplotlib.use("svg")
        import matplotlib.pyplot as plt

        plt.rcParams.update({"svg.hashsalt": "contest", "svg.fonttype": "none", "font.size": 9})
        draw_turn(plt, paper)
        draw_families(plt, families)
        draw_published(plt)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
