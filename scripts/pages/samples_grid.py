"""The grid of experiments/samples.toml and its results, as samples.py reads them."""

import itertools
import json
import math
import statistics

import tomllib

import slim_lines
from published import ROOT

FOLDER = ROOT / "results" / "samples"
EXPERIMENT = ROOT / "experiments" / "samples.toml"
KL, SHAPE = "joint_kl", "conditional_shape_score"
NAMES = {
    "oracle": "Oracle",
    "independent": "Independent",
    "feature-wise": "Feature-wise SB",
    "sinkhorn": "Sinkhorn",
    "dlightsb": "DLightSB",
    "dlightsb-chain": "DLightSB-chain",
    "dlightsb-m": "DLightSB-M",
    "csbm": "CSBM",
    "alpha-csbm": "α-CSBM",
}
CLEAR = 2  # standard errors from which on a difference counts

# What `slim` keeps of a line, and of its diagnostics.
RUN_KEYS = ("pair", "solver", "samples", "training_set", "seed", "set")
RUN_KEYS += ("conditional_samples",)
KL_KEYS = ("standard_error", "bound", "half_particles_change", "missing", "device", "machine")
KL_KEYS += ("version", "train_seconds")
CHOICES = ("components", "states", "smoothing", "shrinkage", "held_out_update", "updates")
CHOICES += ("converged", "hidden", "weight_decay")


class Grid:
    """The runs of experiments/samples.toml: (pair, solver, n, training set) -> their settings. The
    Oracle has neither n nor set."""

    def __init__(self):
        experiment = tomllib.loads(EXPERIMENT.read_text())
        self.conditional_samples = experiment["evaluation"]["conditional_samples"]
        self.runs = {}
        for part in experiment["grid"]:
            settings = [f"{name}={value}" for name, value in part.get("options", {}).items()]
            sets = part.get("training_sets", [0])
            sets = range(sets) if isinstance(sets, int) else sets
            rows = [(n, index) for n in part.get("samples", ()) for index in sets]
            for pair, solver in itertools.product(part["pairs"], part["solvers"]):
                for n, index in rows or [(None, None)]:
                    self.runs[pair, solver, n, index] = settings
        self.pairs = list(dict.fromkeys(pair for pair, *_ in self.runs))
        self.sizes = sorted({n for _, _, n, _ in self.runs if n})

    def has(self, line):
        return (
            self.runs.get(run_of(line)) == line["set"]
            and line["conditional_samples"] == self.conditional_samples
        )


def run_of(line):
    return line["pair"], line["solver"], line.get("samples"), line.get("training_set")


def lines_of(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def slimmed(line):
    kept = {key: line[key] for key in RUN_KEYS if key in line}
    kept |= {key: line[key] for key in ("score", "value")}
    if line["score"] == KL:
        kept |= {key: line[key] for key in KL_KEYS if key in line}
        found = line.get("diagnostics", {})
        kept["diagnostics"] = {key: found[key] for key in CHOICES if key in found}
    return kept


def slim(grid, sources, target):
    """Runs of the grid, in its order."""
    strange = set()

    def key_of(line):
        if not grid.has(line):
            strange.add(line.get("run", line["pair"]))
            return None
        return (*run_of(line), line["score"]) if line["score"] in (KL, SHAPE) else None

    kept = slim_lines.merged("samples.py", sources, key_of, slimmed)
    keys = [(*run, score) for run in grid.runs for score in (KL, SHAPE)]
    size = slim_lines.write(target, kept, keys)
    print(f"{len({key[:-1] for key in kept})} of {len(grid.runs)} runs, {size:,} bytes")
    if strange:
        print(f"left out {len(strange)} runs that are not of the grid, such as {min(strange)}")


class Results:
    """Lines of the grid by cell: (pair, solver, n) -> {training set: line}."""

    def __init__(self, grid):
        self.grid = grid
        self.lines = {KL: {}, SHAPE: {}}
        for line in lines_of(FOLDER / "samples.jsonl"):
            *cell, index = run_of(line)
            self.lines[line["score"]].setdefault(tuple(cell), {})[index] = line

    def values(self, cell, score=KL):
        """{training set: value}; none where a set has no value, as a mean would leave it out."""
        values = {i: line["value"] for i, line in self.lines[score].get(cell, {}).items()}
        return {} if None in values.values() else values

    def mean(self, cell, score=KL):
        values = self.values(cell, score)
        return statistics.mean(values.values()) if values else None

    def bounded(self, cell):
        """Whether the KL comes from particles, which give an upper bound."""
        return any(line.get("bound") == "upper" for line in self.lines[KL].get(cell, {}).values())

    def difference(self, cell, other):
        """Mean and error of cell's KL less other's, set by set; the error of one set is that of the
        test rows. None where they share no set."""
        ours, theirs = self.values(cell), self.values(other)
        shared = sorted(ours.keys() & theirs.keys())
        if not shared:
            return None
        gaps = [ours[i] - theirs[i] for i in shared]
        if len(gaps) > 1:
            return statistics.mean(gaps), error_of(gaps)
        lines = [self.lines[KL][key][shared[0]] for key in (cell, other)]
        return gaps[0], math.hypot(*(line["standard_error"] for line in lines))

    def worse(self, cell, other):
        """Whether cell's KL is clearly above other's; none where one of them is missing."""
        found = self.difference(cell, other)
        return None if found is None else found[0] > CLEAR * found[1]

    def curve(self, pair, solver):
        """{n: mean KL}, where it is positive."""
        means = {n: self.mean((pair, solver, n)) for n in self.grid.sizes}
        return {n: value for n, value in means.items() if value is not None and value > 0}

    def solvers(self, pair):
        return [s for s in NAMES if any(self.mean((pair, s, n)) for n in self.grid.sizes)]


def error_of(values):
    return statistics.stdev(values) / math.sqrt(len(values))
