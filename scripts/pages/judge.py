#!/usr/bin/env python3
"""How far the network solvers are from the truth in nats, beside the bridges.

  judge.py slim RESULTS.jsonl   keeps of a run of experiments/judge.toml what is read here
  judge.py table                the tables of results/judge/README.md

Joint KLs of CSBM and α-CSBM come from particles and are upper bounds; those of the bridges, from
results/families, are exact. A bound is nearer than a bridge where it lies below by more than two
standard errors. It is farther where it lies above by more than that and by more than ten times
what half of its particles would add, the rule of docs/benchmark.md. Else it is open.
"""

import math
import pathlib
import sys

import tomllib

import slim_lines
from families import CLOSED, DIMS, DIRECTIONS, FAMILIES, REFERENCES, SHAPE, nats, share
from published import ROOT
from result_tables import digits_of, head, measured, row
from samplers import joints, paths
from samplers import nats as with_error
from samples_grid import CLEAR, KL

FILE = ROOT / "results" / "judge" / "judge.jsonl"
PATH, AUC = "forward_trajectory_kl", "c2st_auc"
STEPS = 16
NETWORKS = {"CSBM": ("CSBM", "kl", str(STEPS)), "α-CSBM": ("α-CSBM", "kl", str(STEPS))}
SETTLED = 10  # a bound lies farther only beyond this many times what half of its particles add
SMALL = 0.05  # nats that twice the particles may change

SPREAD = {
    direction: [f"d{dim}-{reference}-spread{end}" for dim in DIMS for reference in REFERENCES]
    for direction, end in DIRECTIONS.items()
}
OTHERS = [
    f"d{dim}-gaussian-0.02{family}{end}"
    for name, family in FAMILIES.items()
    if name != "spread"
    for end in DIRECTIONS.values()
    for dim in DIMS
]
PAIRS = [*SPREAD["forward"], *SPREAD["reverse"], *OTHERS]
FORWARD = [pair for pair in PAIRS if not pair.endswith("-reverse")]
REVERSE = [pair for pair in PAIRS if pair.endswith("-reverse")]

# What `slim` keeps of a line, and of the detail of a joint KL.
KEYS = ("run", "pair", "trained_on", "solver", "method", "loss", "num_steps", "score", "value")
KEYS += ("standard_error", "bound", "half_particles_change", "missing")
DETAIL = ("rows", "particles", "worst_share")


def number(value):
    """Two decimals of a score."""
    return "" if value is None else f"{round(value, 2) + 0.0:.2f}"


def slimmed(line):
    kept = {key: line[key] for key in KEYS if key in line}
    if line["score"] == KL:
        kept |= {key: line["detail"][f"joint_kl_{key}"] for key in DETAIL}
    return kept


def slim(source):
    """Lines of every run, in the order of the tables. A run that is missing and a line of another
    experiment are errors."""
    experiment = tomllib.loads((ROOT / "experiments" / "judge.toml").read_text())["name"]

    def key_of(line):
        if line["experiment"] != experiment:
            sys.exit(f"judge.py: {line['run']} is of {line['experiment']}")
        return line["method"], line["pair"], line["score"]

    kept = slim_lines.merged("judge.py", [source], key_of, slimmed)
    runs = [(method, pair) for pair in PAIRS for method in NETWORKS]
    if missing := [run for run in runs if (*run, KL) not in kept]:
        sys.exit(f"judge.py: no joint KL of {missing[0]}")
    keys = [(*run, score) for run in runs for score in (KL, PATH, SHAPE, AUC)]
    print(f"{len(runs)} runs, {slim_lines.write(FILE, kept, keys):,} bytes")


def preset_cells(families=None):
    """Solvers of results/families; the networks of results/judge in place of its own, which have 64
    steps."""
    families = families or measured("families")
    others = {key: lines for key, lines in families.items() if key[0] not in NETWORKS}
    return others | measured("judge", FILE.name)


class Judge:
    """Networks of results/judge beside the solvers of results/families."""

    def __init__(self, families=None):
        self.cells = preset_cells(families)
        self.sampler, self.paths = joints(), paths()

    def line(self, name, pair, score=KL):
        """None where the solver has no such score."""
        solver = (CLOSED | NETWORKS)[name]
        lines = self.cells.get((*solver, pair, score))
        return lines[0] if lines else None

    def value(self, name, pair, score=KL):
        line = self.line(name, pair, score)
        return None if line is None else line["value"]

    def share(self, name, pair):
        """The way from Independent to the Oracle in conditional shape."""
        return share(self.cells, (CLOSED | NETWORKS)[name], pair)

    def gap(self, network, bridge, pair):
        """How far the bound lies above the bridge's KL, and the error of that."""
        lines = [self.line(name, pair) for name in (network, bridge)]
        errors = [line["standard_error"] for line in lines]
        return lines[0]["value"] - lines[1]["value"], math.hypot(*errors)

    def verdict(self, network, bridge, pair):
        gap, error = self.gap(network, bridge, pair)
        if gap < -CLEAR * error:
            return "nearer"
        unsettled = SETTLED * self.halved(network, pair)
        return "farther" if gap > max(CLEAR * error, unsettled) else "open"

    def against_all(self, network, pair):
        """Nearer than every bridge, farther than one of them, or open."""
        verdicts = {self.verdict(network, bridge, pair) for bridge in CLOSED}
        return next(word for word in ("farther", "open", "nearer") if word in verdicts)

    def nearest(self, pair):
        """The bridge with the smallest KL."""
        return min(CLOSED, key=lambda name: self.value(name, pair))

    def with_verdict(self, network, word, pairs):
        return [pair for pair in pairs if self.against_all(network, pair) == word]

    def times(self, name, pairs):
        """How many times as far from the truth as CSBM's bound a solver is."""
        return [self.value(name, pair) / self.value("CSBM", pair) for pair in pairs]

    def halved(self, network, pair):
        """What half of the particles would add to the bound."""
        return self.line(network, pair)["half_particles_change"]

    def sampler_part(self, pair):
        """The share of CSBM's distance that the sampler alone has."""
        return self.sampler[pair, STEPS]["joint_kl"][0] / self.value("CSBM", pair)

    def beyond_path(self, pair):
        """How far CSBM's bound lies above the KL of whole paths, and the error of that."""
        bound, model = (self.line("CSBM", pair, score) for score in (KL, PATH))
        part, error = self.paths[pair, STEPS]
        errors = bound["standard_error"], model["standard_error"], error
        return bound["value"] - model["value"] - part, math.hypot(*errors)

    def overruled(self, score, pairs):
        """(comparisons that the joint KL decides, those of them that `score` turns around) of CSBM
        with every bridge, where both have the score."""
        decided, turned = 0, []
        for pair in pairs:
            for bridge in CLOSED:
                values = [self.value(name, pair, score) for name in ("CSBM", bridge)]
                word = self.verdict("CSBM", bridge, pair)
                if None in values or word == "open":
                    continue
                ahead = values[0] > values[1] if score == SHAPE else values[0] < values[1]
                decided += 1
                if ahead != (word == "nearer"):
                    turned.append((pair, bridge))
        return decided, turned


def joint_tables(judge):
    """Every pair: joint KLs with their errors, and CSBM against the bridges."""
    bounds = [f"{name}, at most" for name in NETWORKS]
    for title, pairs in (("spread", sum(SPREAD.values(), [])), ("other families", OTHERS)):
        head(f"joint KL, {title}", *bounds, *CLOSED, "CSBM against the bridges")
        for pair in pairs:
            lines = [judge.line(name, pair) for name in (*NETWORKS, *CLOSED)]
            row(pair, *map(digits_of, lines), judge.against_all("CSBM", pair))
        print()


def particles_table(judge):
    """What a bound rests on."""
    words = ("half the particles add", "rows", "share of the worst 1 %")
    head("bound", *(f"{name}: {word}" for name in NETWORKS for word in words))
    for pair in PAIRS:
        texts = []
        for name in NETWORKS:
            line = judge.line(name, pair)
            texts += [f"{line['half_particles_change']:.4f}", f"{line['rows']:,}"]
            texts.append(number(line["worst_share"]))
        row(pair, *texts)
    print()


def parts_table(judge):
    """Forward: the bound beside what the sampler alone costs, at the ends and on the whole path."""
    head(
        "forward",
        "sampler alone, at most",
        *(f"{name}, at most" for name in NETWORKS),
        "sampler's part of a path",
        *(f"{name}'s trajectory KL" for name in NETWORKS),
    )
    for pair in FORWARD:
        bounds = [judge.line(name, pair) for name in NETWORKS]
        models = [judge.line(name, pair, PATH) for name in NETWORKS]
        row(
            pair,
            with_error(*judge.sampler[pair, STEPS]["joint_kl"]),
            *map(digits_of, bounds),
            with_error(*judge.paths[pair, STEPS]),
            *map(digits_of, models),
        )
    print()


def stand_in_tables(judge):
    """The scores that stood in for the joint KL of a network."""
    solvers = CLOSED | NETWORKS
    head("share of the way", *solvers, "AUC, DLightSB", "AUC, CSBM")
    for pair in PAIRS:
        row(
            pair,
            *(number(judge.share(name, pair)) for name in solvers),
            *(number(judge.value(name, pair, AUC)) for name in ("DLightSB", "CSBM")),
        )
    print()
    head("trajectory KL", *solvers)
    for pair in PAIRS:
        values = [judge.value(name, pair, PATH) for name in solvers]
        if None not in values:
            row(pair, *map(nats, values))
    print()


def main():
    if sys.argv[1:2] == ["slim"] and len(sys.argv) == 3:
        slim(pathlib.Path(sys.argv[2]))
    elif sys.argv[1:] == ["table"]:
        judge = Judge()
        joint_tables(judge)
        particles_table(judge)
        parts_table(judge)
        stand_in_tables(judge)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
