"""Reads results/proxies/proxies.jsonl: runs that were judged on data alone and by the truth."""

import json
import math
import statistics

from published import ROOT

FILE = ROOT / "results" / "proxies" / "proxies.jsonl"
APART = 2  # standard errors beyond which a difference counts

# What is shown of a number of `evaluate --x0 --x1`, in its order: title, and how a run's value
# becomes one of which less is better.
PROXIES = {
    "held_out_objective": ("held-out objective", "less"),
    "shape_score": ("shape", "less"),
    "trend_score": ("trend", "less"),
    "trend_offdiagonal": ("trend without (d, d)", "less"),
    "c2st_auc": ("C2ST AUC", "half"),
    "copies": ("copies", "beside"),
    "nearest_changed": ("nearest training row, coordinates", "beside"),
    "nearest_moved": ("nearest training row, categories", "beside"),
    "changed": ("transport cost, coordinates", "more"),
    "moved": ("transport cost, categories", "more"),
    "reference_kl": ("path KL to the reference", "more"),
    "bridge_distance": ("distance to the best bridge", "more"),
    "cycle_shape_score": ("cycle, shape", "less"),
    "cycle_trend_score": ("cycle, trend", "less"),
    "cycle_changed": ("cycle, change", "beside"),
}
# How far from best a value is: of a score, of an AUC, of what should be that of held-out rows.
BADNESS = {
    "less": lambda value, beside: -value,
    "more": lambda value, beside: value,
    "half": lambda value, beside: abs(value - 0.5),
    "beside": lambda value, beside: abs(value - beside),
}
KEEPS_ROWS = ("independent", "sinkhorn-rows")  # all mass on training rows: the KL is infinite
NETWORKS = ("csbm", "alpha-csbm", "csbm-heart", "csbm-first", "csbm-hasty")
FEWEST = 4  # runs of a cell that are ranked


def kind_of(name):
    if name in NETWORKS:
        return "networks"
    return "rows" if name in KEEPS_ROWS else "bridges"


def number(value):
    return math.inf if value == "inf" else -math.inf if value == "-inf" else value


class Cell:
    """A pair, a number of rows and the runs on them."""

    def __init__(self, line):
        self.pair, self.samples, self.menu = line["pair"], line["samples"], line["menu"]
        self.dim = int(self.pair[1:].split("-")[0])
        self.held_out_rows = line["held_out_rows"]
        self.machine, self.device = line["machine"], line["device"]
        self.truth, self.error, self.blocks, self.scores, self.seconds = {}, {}, {}, {}, {}
        for run in line["runs"]:
            name, truth = run["name"], run["truth"]
            keeps = name in KEEPS_ROWS or truth["infinite"]
            self.truth[name] = math.inf if keeps else truth["joint_kl"]
            self.error[name] = 0.0 if keeps else truth["standard_error"]
            self.blocks[name] = truth["blocks"]
            self.scores[name] = run["scores"]
            self.seconds[name] = truth["train_seconds"]
        self.differences = [
            (first, second, number(difference), number(error))
            for first, second, difference, error in line["differences"]
        ]

    def names(self, kind=None):
        return [name for name in self.truth if kind in (None, kind_of(name))]

    def badness(self, name, proxy):
        """Less is better; None where the run has no such number."""
        score = self.scores[name].get(proxy)
        if score is None or "value" not in score:
            return None
        how = PROXIES[proxy][1]
        beside = number(score.get("beside"))
        if how == "beside" and beside is None:
            return None
        return BADNESS[how](number(score["value"]), beside)

    def true_difference(self, first, second):
        """KL of `second` less that of `first`, and its error over blocks of test rows."""
        mean = self.truth[second] - self.truth[first]
        gaps = [b - a for a, b in zip(self.blocks[first], self.blocks[second])]
        if len(gaps) < 2:
            return mean, math.hypot(self.error[first], self.error[second])
        return mean, statistics.stdev(gaps) / math.sqrt(len(gaps))


def read(path=FILE):
    return [Cell(json.loads(line)) for line in path.read_text().splitlines()]


def ranks(values):
    """1, 2, ...; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for i in order[start:end]:
            found[i] = (start + end + 1) / 2
        start = end
    return found


def spearman(left, right):
    """Pearson's correlation of the ranks; None where one of them does not vary."""
    left, right = ranks(left), ranks(right)
    if len(set(left)) < 2 or len(set(right)) < 2:
        return None
    return statistics.correlation(left, right)


def kendall(left, right):
    """Kendall's tau-b; None likewise."""
    both = left_tied = right_tied = 0
    pairs = [(i, j) for i in range(len(left)) for j in range(i)]
    sign = lambda a, b: (a > b) - (a < b)
    for i, j in pairs:
        first, second = sign(left[i], left[j]), sign(right[i], right[j])
        both += first * second
        left_tied += first == 0
        right_tied += second == 0
    scale = (len(pairs) - left_tied) * (len(pairs) - right_tied)
    return both / math.sqrt(scale) if scale else None


def correlations(cells, proxy, kind=None):
    """(Spearman, Kendall, whether its best run is the best) of each cell whose runs can be ranked;
    kind None: of all kinds."""
    found = []
    for cell in cells:
        names = [name for name in cell.names(kind) if cell.badness(name, proxy) is not None]
        if len(names) < FEWEST:
            continue
        bad = [cell.badness(name, proxy) for name in names]
        true = [cell.truth[name] for name in names]
        rho, tau = spearman(bad, true), kendall(bad, true)
        if rho is not None:
            found.append((rho, tau, true[bad.index(min(bad))] == min(true)))
    return found


def misled(cells, proxy, better, worse):
    """(cells where the truth has `better` ahead by more than its error, those of them where the
    proxy has `worse` ahead)."""
    decided = turned = 0
    for cell in cells:
        if not {better, worse} <= set(cell.truth):
            continue
        bad = [cell.badness(name, proxy) for name in (better, worse)]
        difference, error = cell.true_difference(better, worse)
        if None in bad or not difference > APART * error:
            continue
        decided += 1
        turned += bad[1] < bad[0]
    return decided, turned


class Comparison:
    """Two bridges of a cell by their held-out objectives and by the truth."""

    def __init__(self, cell, first, second, difference, error):
        self.cell, self.first, self.second = cell, first, second
        self.difference, self.error = difference, error
        self.true, self.true_error = cell.true_difference(first, second)
        self.apart = abs(difference) > APART * error
        self.agrees = difference * self.true > 0
        self.true_apart = abs(self.true) > APART * self.true_error

    def beyond(self):
        """How many joint errors the difference lies from the true one."""
        return abs(self.difference - self.true) / math.hypot(self.error, self.true_error)


def comparisons(cells):
    """Of two bridges whose KLs are finite."""
    return [
        Comparison(cell, *each)
        for cell in cells
        if cell.menu != "networks"  # which has bridges of another line again
        for each in cell.differences
        if not any(math.isinf(cell.truth[name]) or kind_of(name) != "bridges" for name in each[:2])
    ]
