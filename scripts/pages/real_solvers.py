#!/usr/bin/env python3
"""Every solver on the pairs that look like data: does the ranking of the Gaussian families hold?

  real_solvers.py missing       runs of experiments/real.toml that are not there
  real_solvers.py table         the tables of solvers in results/real/README.md
  real_solvers.py figure        draws results/real/solvers.svg (matplotlib)

They read results/real/results.jsonl, results of parts of the experiment one behind the other. The
Gaussian families are one pair each, of D = 64 and the reference gaussian-0.02, where every solver
was measured (results/families, of the networks results/judge). What has not been run is blank.
"""

import fnmatch
import itertools
import statistics
import sys

import tomllib

from families import COLOURS, DIRECTIONS, FAMILIES, LEAST
from figures import GRID, pyplot, save
from judge import Judge
from published import ROOT
from result_lines import score_lines
from result_tables import head, row
from samples import decimals
from samples_grid import KL, SHAPE
from samples_grid import NAMES as NAMES_OF_SAMPLES

FOLDER = ROOT / "results" / "real"
FILE = FOLDER / "results.jsonl"
EXPERIMENT = ROOT / "experiments" / "real.toml"
DATA = ("data-words", "data-digits-3-8", "data-text", "data-brick-gravel")
NAMES = NAMES_OF_SAMPLES | {"reference": "Reference", "dlightsb-tree": "DLightSB-tree"}
ORDER = ("independent", "reference", "feature-wise", "sinkhorn", "dlightsb", "dlightsb-m")
ORDER += ("dlightsb-chain", "dlightsb-tree", "csbm", "alpha-csbm")
COLOUR = COLOURS | {
    "Independent": "#999999",
    "Reference": "#555555",
    "Sinkhorn": "#F0E442",
    "DLightSB-tree": "#000000",
}
PLACES = {"forward": DATA, "reverse": tuple(f"{pair}-reverse" for pair in DATA)}
GAUSSIAN = "d64-gaussian-0.02"
SIZES = (0, 1000)
WITHOUT_ROWS = ("oracle", "reference")


def short(pair):
    return pair.removeprefix("data-").removesuffix("-reverse")


def runs_of_experiment():
    """(pair, solver, rows) that the experiment scores, in its order, without a run twice."""
    runs = {}
    for part in tomllib.loads(EXPERIMENT.read_text())["grid"]:
        known = DATA + PLACES["reverse"]
        pairs = [
            pair
            for pattern in part["pairs"]
            for pair in (DATA if "*" in pattern else known)
            if fnmatch.fnmatchcase(pair, pattern)
        ]
        ends = ("", "-reverse") if part.get("both_directions") else ("",)
        for pair, solver, n, end in itertools.product(
            pairs, part["solvers"], part.get("samples", [0]), ends
        ):
            runs[pair + end, solver, 0 if solver in WITHOUT_ROWS else n] = True
    return list(runs)


def place_of(line):
    return line["pair"], line["solver"], line.get("samples") or 0


def cell_of(line):
    return *place_of(line), line["score"]


def read():
    """{(pair, solver, rows, score): line}"""
    lines = (line for line in score_lines(FILE) if line["score"] in (KL, SHAPE))
    return {cell_of(line): line for line in lines}


def missing(cells):
    for run in runs_of_experiment():
        if (*run, KL) not in cells:
            print(*run)


def text(line):
    """Three digits of a joint KL; at most that where it comes from particles."""
    if line is None or line["value"] is None:
        return ""
    value, error = line["value"], line["standard_error"]
    if value == "inf":
        return "∞"
    bound = "≤ " if line.get("bound") == "upper" else ""
    digits = max(decimals(value, 3, 4), decimals(error, 1, 4))
    return f"{bound}{value:.{digits}f} ± {error:.{digits}f}"


def score_text(line):
    return "" if line is None else f"{line['value']:.3f}"


def cells_table(cells, rows, score, text_of, ways=PLACES):
    """A row for each solver that has the score on a pair, a column for each pair and direction."""
    there = {(pair, n) for pair, _, n, of in cells if of == score}
    columns = [(pair, way) for way in ways for pair in PLACES[way] if (pair, rows) in there]
    pairs = [pair for pair, _ in columns]
    head("solver" if score == KL else "shape", *(f"{short(pair)}, {way}" for pair, way in columns))
    for solver in ("oracle", *ORDER):
        n = 0 if solver in WITHOUT_ROWS else rows
        texts = [text_of(cells.get((pair, solver, n, score))) for pair in pairs]
        if any(texts) and (solver != "oracle" or score == SHAPE):
            row(NAMES[solver], *texts)
    print()


def value_of(cells, pair, solver, rows=0):
    line = cells.get((pair, solver, rows, KL))
    value = line["value"] if line else None
    return None if value == "inf" else value


def ranks(values):
    """Places from 1; equal values share the mean of theirs."""
    order = sorted(values)
    return [order.index(v) + (order.count(v) + 1) / 2 for v in values]


def correlation(left, right):
    """Spearman's, over solvers that both have; none for fewer than four."""
    both = [(a, b) for a, b in zip(left, right) if a is not None and b is not None]
    if len(both) < 4:
        return None
    return statistics.correlation(*(ranks(values) for values in zip(*both)))


COMPARED = ("feature-wise", "dlightsb", "dlightsb-m", "dlightsb-chain", "csbm", "alpha-csbm")


def family_values(judge, family, direction):
    pair = GAUSSIAN + FAMILIES[family] + DIRECTIONS[direction]
    return [judge.value(NAMES[solver], pair) for solver in COMPARED]


def ranking_table(cells):
    """How alike the order of the solvers is on a family and on a pair of data."""
    judge = Judge()
    head("direction", "family", *map(short, DATA))
    for direction, family in itertools.product(DIRECTIONS, FAMILIES):
        ours = family_values(judge, family, direction)
        found = [
            correlation(ours, [value_of(cells, pair, solver) for solver in COMPARED])
            for pair in PLACES[direction]
        ]
        if any(value is not None for value in found):
            row(direction, family, *("" if v is None else f"{v:.2f}" for v in found))
    print()


def draw(cells):
    """Joint KLs of the families beside those of the pairs of data, a panel for each direction."""
    judge, plt = Judge(), pyplot("real")
    figure, panels = plt.subplots(2, 1, figsize=(8.4, 6.4), sharey=True, layout="constrained")
    for panel, direction in zip(panels, DIRECTIONS):
        drawn = [solver for solver in ORDER if solver != "sinkhorn"]
        for shift, solver in enumerate(drawn):
            of_families = [None] * len(FAMILIES)
            if NAMES[solver] in COLOURS:
                of_families = [
                    judge.value(NAMES[solver], GAUSSIAN + end + DIRECTIONS[direction])
                    for end in FAMILIES.values()
                ]
            for rows, marker in ((0, "o"), (1000, "x")):
                of_data = [value_of(cells, pair, solver, rows) for pair in PLACES[direction]]
                values = (of_families if rows == 0 else [None] * len(FAMILIES)) + of_data
                points = [
                    (place + 0.08 * (shift - len(drawn) / 2), max(value, LEAST))
                    for place, value in enumerate(values)
                    if value is not None
                ]
                if not points:
                    continue
                panel.plot(
                    *zip(*points),
                    linestyle="",
                    marker=marker,
                    markersize=5,
                    color=COLOUR[NAMES[solver]],
                    label=NAMES[solver] if rows == 0 else None,
                )
        panel.axvline(len(FAMILIES) - 0.5, color="#888888", linewidth=0.8)
        panel.set_xticks(range(len(FAMILIES) + len(DATA)), [*FAMILIES, *map(short, DATA)])
        panel.set_xlim(-0.6, len(FAMILIES) + len(DATA) - 0.4)
        panel.set_yscale("log")
        panel.set_ylabel("joint KL, nats")
        panel.set_title(f"{direction}: families of D = 64, and pairs of data", fontsize=9)
        panel.grid(color=GRID)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False
    )
    save(figure, FOLDER / "solvers.svg")


def table(cells):
    for rows in SIZES:
        cells_table(cells, rows, KL, text)
    ranking_table(cells)
    cells_table(cells, 0, SHAPE, score_text, ["forward"])


def main():
    programs = {"missing": missing, "table": table, "figure": draw}
    if sys.argv[1:] not in ([name] for name in programs):
        sys.exit(__doc__)
    programs[sys.argv[1]](read())


if __name__ == "__main__":
    main()
