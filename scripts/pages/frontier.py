#!/usr/bin/env python3
"""How near one forward training of a bridge comes to the truth, in both directions.

  frontier.py slim LINES.jsonl...   adds what studies/frontier.sh has written to frontier.jsonl
  frontier.py exact PAIR SCORES.json [SETTING]
                                    adds a joint KL of a reversed pair: what `evaluate --json`
                                    printed of a bridge that was turned round, or, with the setting
                                    that it was trained with, of one that was trained from p1
  frontier.py table                 the tables of results/frontier/README.md
  frontier.py figure                draws results/frontier/frontier.svg (matplotlib)

Forward joint KLs are exact. In reverse a bridge that was turned round is at most as far from the
truth as its forward KL and the KL of its law of x0 together (studies/turned_bridges.cc).
"""

import json
import pathlib
import statistics
import sys

import slim_lines
from families import CLOSED, COLOURS, DIMS, DIRECTIONS, FAMILIES, LEAST, REFERENCES
from figures import draw_directions, pyplot
from judge import NETWORKS, preset_cells
from published import ROOT
from result_tables import head, row
from samples_grid import KL

FILE = ROOT / "results" / "frontier" / "frontier.jsonl"
SOLVERS = {"dlightsb": "DLightSB", "dlightsb-chain": "DLightSB-chain"}
NEAR = 0.05  # nats: the goal for the best bridge of a cell
INSTANCE = "-i100"
KEPT = ("pair", "solver", "forward", "source", "reverse_bound", "parts", "acceptance")
STARTS = {"mixture alone": "mixture", "mixture": "both", "samples": "samples"}


def pairs_of(instance="", dims=None, families=FAMILIES):
    """Forward pairs; of an instance those of D = 16 and 64."""
    return [
        f"d{dim}-{reference}{FAMILIES[family]}{instance}"
        for dim in dims or (DIMS[1:] if instance else DIMS)
        for family in families
        for reference in REFERENCES
    ]


def lines():
    return [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []


def write(kept):
    place = {pair: i for i, pair in enumerate(pairs_of() + pairs_of(INSTANCE))}
    order = sorted(
        kept, key=lambda line: (place[line["pair"].removesuffix("-reverse")], line["solver"])
    )
    FILE.write_text("".join(map(slim_lines.line_of, order)))


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


def slim(sources):
    """A later line takes the place of an earlier one of the same pair and solver."""
    kept = {(line["pair"], line["solver"], "joint_kl" in line): line for line in lines()}
    for source in sources:
        for text in pathlib.Path(source).read_text().splitlines():
            line = json.loads(text)
            said = line["result"]["diagnostics"]
            slimmed = {key: rounded(line[key]) for key in KEPT}
            slimmed |= {key: rounded(said[key]) for key in ("start", "start_gain") if key in said}
            slimmed["training_seconds"] = rounded(said["training_seconds"])
            kept[line["pair"], line["solver"], False] = slimmed
    write(kept.values())


def exact(pair, scores, setting=""):
    found = json.loads(pathlib.Path(scores).read_text())
    line = {
        "pair": pair,
        "solver": "dlightsb",
        "joint_kl": rounded([found[KL], found["standard_errors"][KL]]),
    }
    if setting:
        line["trained_from_p1"] = setting
    others = [other for other in lines() if "joint_kl" not in other or other["pair"] != pair]
    write([*others, line])


class Frontier:
    def __init__(self, families=None):
        self.runs, self.turned, self.from_p1 = {}, {}, {}
        for line in lines():
            if "joint_kl" not in line:
                self.runs[line["pair"], line["solver"]] = line
            elif "trained_from_p1" in line:
                self.from_p1[line["pair"]] = line["joint_kl"]
            else:
                self.turned[line["pair"]] = line["joint_kl"]
        self.presets = preset_cells(families)

    def run(self, pair, solver):
        return self.runs.get((pair, solver))

    def trained_from_p1(self, pair):
        """The best joint KL of a bridge that was trained in reverse, with its error."""
        found = [self.presets.get((*CLOSED[name], pair + "-reverse", KL)) for name in CLOSED]
        values = [(cell[0]["value"], cell[0]["standard_error"]) for cell in found if cell]
        if pair + "-reverse" in self.from_p1:
            values.append(tuple(self.from_p1[pair + "-reverse"]))
        return min(values, default=None)

    def best(self, pair, direction):
        """The smallest joint KL, or bound of one, of the cell; None where nothing is there."""
        key = "forward" if direction == "forward" else "reverse_bound"
        values = [run[key][0] for name in SOLVERS if (run := self.run(pair, name))]
        if direction == "reverse":
            values += (
                [self.turned[pair + "-reverse"][0]] if pair + "-reverse" in self.turned else []
            )
            values += [found[0]] if (found := self.trained_from_p1(pair)) else []
        return min(values, default=None)

    def network(self, pair, direction):
        """CSBM's bound; None where it was not measured."""
        cell = self.presets.get((*NETWORKS["CSBM"], pair + DIRECTIONS[direction], KL))
        return cell[0]["value"] if cell else None

    def best_turned(self, pair):
        """The smallest bound of the bridges that were turned round."""
        return min(self.run(pair, name)["reverse_bound"][0] for name in SOLVERS)

    def behind(self, pair):
        """How much farther than DLightSB DLightSB-chain is forward, in nats."""
        runs = [self.run(pair, name) for name in SOLVERS]
        return None if None in runs else runs[1]["forward"][0] - runs[0]["forward"][0]


def nats(estimate):
    """Four decimals, or two digits of what is larger."""
    if estimate is None:
        return ""
    value = estimate[0] if isinstance(estimate, (list, tuple)) else estimate
    return f"{value:.4f}" if abs(value) < 0.1 else f"{value:.2g}" if value < 10 else f"{value:.1f}"


def acceptance(run):
    kept = run and run["acceptance"]
    return f"{kept['least']:.2g}, {kept['overall']:.2g}" if kept else ""


def summary(frontier):
    head("pairs", "direction", "cells", "median", "largest", "of", f"over {NEAR}")

    def line(name, direction, best):
        worst = max(best, key=best.get)
        row(
            name,
            direction,
            str(len(best)),
            f"{statistics.median(best.values()):.4f}",
            f"{best[worst]:.4f}",
            worst,
            str(sum(value > NEAR for value in best.values())),
        )

    of_all = {}
    for name, instance in (("presets", ""), ("instance 100", INSTANCE)):
        for direction in ("forward", "reverse"):
            end = "-reverse" if direction == "reverse" else ""
            best = {pair + end: frontier.best(pair, direction) for pair in pairs_of(instance)}
            best = {pair: value for pair, value in best.items() if value is not None}
            line(name, direction, best)
            of_all |= best
    line("all", "both", of_all)


def cells(frontier, instance):
    kind = "instance 100" if instance else "preset"
    head(
        kind,
        "DLightSB",
        "DLightSB-chain",
        "kept",
        "reverse: DLightSB turned, at most",
        "DLightSB-chain turned, at most",
        "trained from p1",
        "acceptance, DLightSB",
        "acceptance, DLightSB-chain",
    )
    for pair in pairs_of(instance):
        runs = [frontier.run(pair, name) for name in SOLVERS]
        row(
            pair,
            *(nats(run and run["forward"]) for run in runs),
            STARTS.get(runs[1]["start"], "") if runs[1] else "",
            *(nats(run and run["reverse_bound"]) for run in runs),
            nats(frontier.trained_from_p1(pair)),
            *(acceptance(run) for run in runs),
        )


def exact_table(frontier):
    head("pair", "reverse, measured", "at most, by its parts", "trained from p1")
    for pair in pairs_of():
        if (value := frontier.turned.get(pair + "-reverse")) is not None:
            row(
                pair + "-reverse",
                f"{value[0]:.4f} ± {value[1]:.4f}",
                nats(frontier.run(pair, "dlightsb")["reverse_bound"]),
                nats(frontier.trained_from_p1(pair)),
            )


def draw_figure(frontier):
    """The nearest bridge of every pair, beside what is trained in the direction that is asked."""

    def trained_from_p1(pair, direction):
        found = frontier.trained_from_p1(pair) if direction == "reverse" else None
        return found and found[0]

    black, grey, orange = "#222222", "#888888", COLOURS["CSBM"]
    kinds = {  # label: (instance, value of a pair, marker, its face, its edge)
        "nearest bridge, presets": ("", frontier.best, "o", black, black),
        "nearest bridge, instance 100": (INSTANCE, frontier.best, "o", "none", black),
        "nearest bridge trained from p1": ("", trained_from_p1, "^", "none", grey),
        "CSBM, at most": ("", frontier.network, "v", "none", orange),
    }

    def draw(panel, family, direction):
        for shift, (label, (instance, value, marker, face, edge)) in enumerate(kinds.items()):
            points = [
                (place + 0.18 * (shift - 1.5), max(found, LEAST))
                for place, dim in enumerate(DIMS)
                if dim in (DIMS[1:] if instance else DIMS)
                for pair in pairs_of(instance, (dim,), (family,))
                if (found := value(pair, direction)) is not None
            ]
            style = {"markerfacecolor": face, "markeredgecolor": edge, "markersize": 4}
            panel.plot(*(zip(*points) if points else ([], [])), marker, label=label, **style)
        panel.axhline(NEAR, color="#888888", linewidth=0.8, linestyle=":")

    path = FILE.with_suffix(".svg")
    draw_directions(pyplot("frontier"), FAMILIES, DIMS, draw, path)


def main():
    if sys.argv[1:2] == ["slim"] and len(sys.argv) > 2:
        slim(sys.argv[2:])
    elif sys.argv[1:2] == ["exact"] and len(sys.argv) in (4, 5):
        exact(*sys.argv[2:])
    elif sys.argv[1:] == ["table"]:
        frontier = Frontier()
        summary(frontier)
        print()
        exact_table(frontier)
        print()
        cells(frontier, "")
        print()
        cells(frontier, INSTANCE)
    elif sys.argv[1:] == ["figure"]:
        draw_figure(Frontier())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
