#!/usr/bin/env python3
"""Do the tables of the presets hold on instances that no recipe was chosen on?

  scripts/pages/fresh.py slim IN...   merges results.jsonl of parts of experiments/fresh.toml
  scripts/pages/fresh.py missing      --only options of `bridgemark run` for what is not there yet
  scripts/pages/fresh.py table        the tables of results/fresh/README.md

`slim` writes results/fresh/fresh.jsonl, which may be one of IN; the others read it. Presets are
those of results/families, of the networks those of results/judge; trainings are those of
results/paper. A distance to the Oracle is the joint KL, or what the conditional shape lacks of the
Oracle's on the same instance. What has not been run yet is blank.
"""

import argparse
import collections
import fnmatch
import math
import pathlib
import statistics
import sys

import tomllib

import slim_lines
from families import CLOSED, DIMS, FAMILIES, REFERENCES, SHAPE
from judge import KEYS, NETWORKS, preset_cells
from published import ROOT
from result_tables import digits_of, head, measured, row
from samples import counts_table, decimals, dim_of, family_of
from samples_grid import CLEAR, KL, NAMES

FILE = ROOT / "results" / "fresh" / "fresh.jsonl"
EXPERIMENT = tomllib.loads((ROOT / "experiments" / "fresh.toml").read_text())
ORACLE = {"Oracle": ("Oracle", "", "")}
SOLVERS = CLOSED | NETWORKS
PRESETS = [
    f"d{dim}-{reference}{end}"
    for dim in DIMS
    for end in FAMILIES.values()
    for reference in REFERENCES
]
LIMIT = 1.3  # times the presets' mean distance from which on a solver is named
FAR = 0.02  # nats above its preset from which on an instance is listed
RESOLVED = 0.0005  # mean distance in conditional shape below which a ratio says nothing


def runs_of_grid():
    """(solver, preset, instance) of every run of the experiment."""
    runs = []
    for part in EXPERIMENT["grid"]:
        presets = [
            preset
            for preset in PRESETS
            if any(fnmatch.fnmatchcase(preset, pattern) for pattern in part["pairs"])
        ]
        runs += [
            (solver, preset, instance)
            for preset in presets
            for instance in part["instances"]
            for solver in part["solvers"]
        ]
    return runs


def pair_of(preset, instance):
    return f"{preset}-i{instance}"


def slim(sources):
    """Lines of the grid, in its order. A line that is not of the grid is an error."""
    runs = [(solver, pair_of(*place)) for solver, *place in runs_of_grid()]
    known, variants = set(runs), ORACLE | SOLVERS

    def key_of(line):
        run = line["solver"], line["pair"]
        variant = tuple(line[key] for key in ("method", "loss", "num_steps"))
        if (
            line.get("experiment", EXPERIMENT["name"]) != EXPERIMENT["name"]
            or run not in known
            or variants[NAMES[line["solver"]]] != variant
        ):
            sys.exit(f"fresh.py: {line['run']} is not of experiments/fresh.toml")
        return (*run, line["score"]) if line["score"] in (KL, SHAPE) else None

    def slimmed(line):
        return {key: line[key] for key in KEYS if key in line}

    kept = slim_lines.merged("fresh.py", sources, key_of, slimmed)
    size = slim_lines.write(FILE, kept, [(*run, score) for run in runs for score in (KL, SHAPE)])
    print(f"{len({key[:-1] for key in kept})} of {len(runs)} runs, {size:,} bytes")


def deviation(groups):
    """Standard deviation within groups of values, pooled; none where no group has two."""
    groups = [group for group in groups if len(group) > 1]
    if not groups:
        return None
    squares = sum(statistics.variance(group) * (len(group) - 1) for group in groups)
    return math.sqrt(squares / sum(len(group) - 1 for group in groups))


class Comparison:
    """One solver on some presets and on their fresh instances, by one score."""

    def __init__(self, presets, instances):
        self.presets = presets  # the distance on each preset
        self.instances = instances  # those on its instances, a list for each preset
        self.runs = sum(map(len, instances))

    def means(self):
        """Over presets, and over presets of the mean over their instances."""
        return (
            statistics.mean(self.presets),
            statistics.mean(map(statistics.mean, self.instances)),
        )

    def medians(self):
        return statistics.median(self.presets), statistics.median(sum(self.instances, []))

    def times(self, least=0.0):
        """How many times as far as on the presets; none where that is less than `least`."""
        before, now = self.means()
        return now / before if before > least else None


class Fresh:
    """Fresh instances beside presets."""

    def __init__(self, families=None, paper=None):
        self.presets = preset_cells(families)
        self.paper = paper or measured("paper")
        self.fresh = measured("fresh", FILE.name)
        self.grid = runs_of_grid()
        self.instances = collections.defaultdict(list)  # (name, preset) -> its instances
        for solver, preset, instance in self.grid:
            self.instances[NAMES[solver], preset].append(pair_of(preset, instance))

    def line(self, name, pair):
        """That of the joint KL, of a preset or an instance; None where there is none."""
        key = *SOLVERS[name], pair, KL
        return (self.fresh.get(key) or self.presets.get(key) or [None])[0]

    def there(self, solver, pair):
        return (*(ORACLE | SOLVERS)[NAMES[solver]], pair, KL) in self.fresh

    def distance(self, cells, name, pair, score):
        """To the Oracle; None where it was not run."""
        values = [
            cells[(*variant, pair, score)][0]["value"]
            for variant in (SOLVERS[name], *ORACLE.values())
            if (*variant, pair, score) in cells
        ]
        if len(values) < 2:
            return None
        return values[0] if score == KL else values[1] - values[0]

    def found(self, name, preset, score=KL):
        """Distances on the instances that were run."""
        distances = [
            self.distance(self.fresh, name, pair, score) for pair in self.instances[name, preset]
        ]
        return [value for value in distances if value is not None]

    def compared(self, name, dim, family=None):
        """Presets of this size, and of one family where it is given, that both sides have."""
        return [
            preset
            for (solver, preset) in self.instances
            if solver == name
            and dim_of(preset) == dim
            and family in (None, family_of(preset))
            and self.distance(self.presets, name, preset, KL) is not None
            and self.found(name, preset)
        ]

    def comparison(self, name, presets, score=KL):
        return Comparison(
            [self.distance(self.presets, name, preset, score) for preset in presets],
            [self.found(name, preset, score) for preset in presets],
        )

    def trainings(self, name, presets, score):
        """The deviation over trainings of the same preset, where results/paper has several."""
        lines = [self.paper.get((*SOLVERS[name], preset, score), []) for preset in presets]
        return deviation([[line["value"] for line in group] for group in lines])

    def deviation(self, name, presets, score):
        """The deviation over instances of the same preset, a training each."""
        return deviation([self.found(name, preset, score) for preset in presets])

    def times(self, name, dim, score=KL):
        presets = self.compared(name, dim)
        least = RESOLVED if score == SHAPE else 0.0
        return self.comparison(name, presets, score).times(least) if presets else None

    def dims(self):
        return sorted({dim_of(preset) for _, preset in self.instances})

    def named(self):
        """(solver, D) with a mean joint KL of more than LIMIT times the presets'."""
        return [
            (name, dim)
            for name in SOLVERS
            for dim in self.dims()
            if (self.times(name, dim) or 0) > LIMIT
        ]

    def far(self, name, dim):
        """(instance, preset) with a joint KL clearly and by more than FAR above the preset's."""
        pairs = []
        for preset in self.compared(name, dim):
            base = self.line(name, preset)
            for pair in self.instances[name, preset]:
                line = self.line(name, pair)
                if line is None:
                    continue
                error = math.hypot(line["standard_error"], base["standard_error"])
                if line["value"] - base["value"] > max(FAR, CLEAR * error):
                    pairs.append((pair, preset))
        return pairs

    def without_far(self, name, dim):
        """The comparison without these instances."""
        left = {pair for pair, _ in self.far(name, dim)}
        before, now = [], []
        for preset in self.compared(name, dim):
            values = [
                self.line(name, pair)["value"]
                for pair in self.instances[name, preset]
                if pair not in left and self.line(name, pair)
            ]
            if values:
                before.append(self.distance(self.presets, name, preset, KL))
                now.append(values)
        return Comparison(before, now)


def nats(value):
    """Three digits and four decimals at the most."""
    return "" if value is None else f"{value:.{decimals(value, 3, 4)}f}"


def four_decimals(value):
    """Four decimals of a conditional shape."""
    return "" if value is None else f"{round(value, 4) + 0.0:.4f}"


def ratio(value):
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:.1f}"


SCORES = {
    KL: ("joint KL", nats, 0.0),
    SHAPE: ("conditional shape below the Oracle's", four_decimals, RESOLVED),
}


def label(name, score):
    """Joint KLs of networks are upper bounds."""
    return f"{name}, at most" if name in NETWORKS and score == KL else name


def runs_table(fresh):
    there = collections.Counter(
        solver for solver, *place in fresh.grid if fresh.there(solver, pair_of(*place))
    )
    counts_table(there, collections.Counter(solver for solver, *_ in fresh.grid))


def solver_tables(fresh):
    """Means over pairs by solver and dimension."""
    for score, (title, text, least) in SCORES.items():
        head(
            title,
            "D",
            "pairs",
            "runs",
            "presets",
            "fresh instances",
            "times",
            "median, presets",
            "median, fresh",
        )
        for name in SOLVERS:
            for dim in fresh.dims():
                presets = fresh.compared(name, dim)
                first = label(name, score), str(dim), str(len(presets))
                if not presets:
                    row(*first, "0", *[""] * 5)
                    continue
                found = fresh.comparison(name, presets, score)
                row(
                    *first,
                    str(found.runs),
                    *map(text, found.means()),
                    ratio(found.times(least)),
                    *map(text, found.medians()),
                )
        print()


def far_table(fresh):
    """What makes the difference for solvers that are named."""
    head(
        "farther than its preset", "solver", "joint KL", "on the preset", "DLightSB on the instance"
    )
    for name, dim in fresh.named():
        for pair, preset in fresh.far(name, dim):
            lines = fresh.line(name, pair), fresh.line(name, preset), fresh.line("DLightSB", pair)
            row(pair, name, *map(digits_of, lines))
    print()


def family_tables(fresh):
    """Spread over instances beside spread over trainings."""
    for score, (title, text, _) in SCORES.items():
        head(
            f"{title}, by family",
            "D",
            "solver",
            "pairs",
            "presets",
            "fresh instances",
            "deviation over instances",
            "over trainings",
        )
        for family in FAMILIES:
            for dim in fresh.dims():
                for name in SOLVERS:
                    presets = fresh.compared(name, dim, family)
                    first = family, str(dim), label(name, score), str(len(presets))
                    if not presets:
                        row(*first, *[""] * 4)
                        continue
                    found = fresh.comparison(name, presets, score)
                    row(
                        *first,
                        *map(text, found.means()),
                        text(fresh.deviation(name, presets, score)),
                        text(fresh.trainings(name, presets, score)),
                    )
        print()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("slim").add_argument("sources", nargs="+", type=pathlib.Path)
    commands.add_parser("missing")
    commands.add_parser("table")
    options = parser.parse_args()
    if options.command == "slim":
        slim(options.sources)
        return
    fresh = Fresh()
    if options.command == "missing":
        for solver, *place in fresh.grid:
            if not fresh.there(solver, pair_of(*place)):
                print(slim_lines.only(pair_of(*place), solver))
        return
    runs_table(fresh)
    solver_tables(fresh)
    far_table(fresh)
    family_tables(fresh)


if __name__ == "__main__":
    main()
