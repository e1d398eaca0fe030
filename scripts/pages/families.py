#!/usr/bin/env python3
"""families.py table|figure: the table of results/families/README.md, and results/families/*.svg
(matplotlib). Other programs take the families, directions and colours from here."""

import statistics
import sys

from figures import DIRECTIONS, draw_directions, pyplot
from published import ROOT
from result_tables import head, measured, row

DIMS = (2, 16, 64)
REFERENCES = ("gaussian-0.02", "gaussian-0.05", "uniform-0.005", "uniform-0.01")
FAMILIES = {"sphere": "", "spread": "-spread", "chain": "-chain", "twosided": "-twosided"}
SHAPE = "conditional_shape_score"
# The variant of each solver that the reading compares: (method, loss, steps).
SOLVERS = {
    "DLightSB": ("DLightSB", "", ""),
    "DLightSB-M": ("DLightSB-M", "kl", "64"),
    "CSBM": ("CSBM", "kl", "16"),
    "α-CSBM": ("α-CSBM", "kl", "16"),
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
LEAST = 1e-5  # nats: where a figure puts what is below


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


def draw_families(cells):
    """Joint KL of every pair of a family, direction and dimension."""

    def draw(panel, family, direction):
        end = FAMILIES[family] + DIRECTIONS[direction]
        for shift, (name, solver) in enumerate(CLOSED.items()):
            for place, dim in enumerate(DIMS):
                values = [
                    mean(cells, (*solver, f"d{dim}-{reference}{end}", "joint_kl"))
                    for reference in REFERENCES
                ]
                values = [max(value, LEAST) for value in values if value is not None]
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

    path = ROOT / "results/families/joint_kl.svg"
    draw_directions(pyplot("families"), FAMILIES, DIMS, draw, path)


def main():
    programs = {"table": families_table, "figure": draw_families}
    if sys.argv[1:] not in ([name] for name in programs):
        sys.exit(__doc__)
    programs[sys.argv[1]](measured("families"))


if __name__ == "__main__":
    main()
