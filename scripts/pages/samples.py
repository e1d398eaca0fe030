#!/usr/bin/env python3
"""Which solver for how many rows? Reads results of the grid experiments/samples.toml.

  samples.py slim IN... OUT     merges results.jsonl of parts of the grid, keeps what is read
  samples.py table              all tables of results/samples/README.md but those of few-rows
  samples.py missing            --only options of `bridgemark run` for what is not there yet
  samples.py promise            where a default bridge is worse than both baselines
  samples.py rates              how fast each solver falls with n, and where lines cross
  samples.py stopping           what it costs that held-out rows choose the update
  samples.py figure OUT.svg     joint KL against n (matplotlib)

All but `slim` read results/samples/samples.jsonl, `stopping` reads stopping.jsonl beside it (lines
of held_out_stopping.cc). What has not been run yet is blank. IN may be a file that `slim` wrote.
"""

import argparse
import collections
import math
import pathlib
import statistics

from families import COLOURS, DIRECTIONS, FAMILIES
from figures import pyplot, save
from result_tables import head, row
from samples_grid import FOLDER, KL, NAMES, SHAPE, Grid, Results, error_of, lines_of, slim
from slim_lines import only

BASELINES = ("feature-wise", "sinkhorn")
BRIDGES = ("dlightsb", "dlightsb-chain")
MARKERS = dict(zip(NAMES, "..sXoDv^P"))
CLOSE = 1.05  # of the best KL, what a chosen update may have


def decimals(value, digits, most):
    """Decimals that show so many digits of a value."""
    return min(most, max(0, digits - 1 - math.floor(math.log10(abs(value))))) if value else 0


def nats(values):
    """The mean over training sets, and its error where there are several."""
    mean = statistics.mean(values)
    text = f"{mean:.{decimals(mean, 3, 4)}f}"
    if len(values) == 1:
        return text
    error = error_of(values)
    return f"{text} ± {error:.{decimals(error, 1, 5)}f}"


def size_columns(sizes):
    return [f"n = {n:,}" for n in sizes]


def dim_of(pair):
    return int(pair[1:].split("-")[0])


def direction_of(pair):
    return "reverse" if pair.endswith("-reverse") else "forward"


def family_of(pair):
    pair = pair.removesuffix("-reverse")
    return next((name for name, end in FAMILIES.items() if end and pair.endswith(end)), "sphere")


def groups(grid):
    """(D, direction, its pairs)."""
    for dim in sorted(set(map(dim_of, grid.pairs))):
        for direction in DIRECTIONS:
            place = dim, direction
            pairs = [pair for pair in grid.pairs if (dim_of(pair), direction_of(pair)) == place]
            yield *place, pairs


def runs_table(results):
    """How much of the grid is there."""
    grid = results.grid
    there = collections.Counter()
    for cell, lines in results.lines[KL].items():
        there[cell[1]] += len(lines)
    whole = collections.Counter(solver for _, solver, _, _ in grid.runs)
    counts_table(there, whole)


def counts_table(there, whole):
    """Runs by solver, those that are there and those of the grid."""
    head("runs of the grid", "there", "of")
    for solver, name in NAMES.items():
        if whole[solver]:
            row(name, f"{there[solver]:,}", f"{whole[solver]:,}")
    row("all", f"{there.total():,}", f"{whole.total():,}")
    print()


def print_missing(results):
    there = {(*cell, index) for cell, lines in results.lines[KL].items() for index in lines}
    for run in results.grid.runs:
        if run not in there:
            pair, solver, n, index = run
            print(only(pair, solver, f"n{n}.set{index}.*" if n else ""))


def kl_tables(results):
    grid = results.grid
    for dim, direction, pairs in groups(grid):
        head(f"joint KL, D = {dim}, {direction}", "solver", *size_columns(grid.sizes))
        for pair in pairs:
            name = pair
            for solver in results.solvers(pair):
                cells = [(pair, solver, n) for n in grid.sizes]
                row(name, NAMES[solver], *(kl_text(results, cell) for cell in cells))
                name = ""
        print()


def kl_text(results, cell):
    values = results.values(cell)
    if not values:
        return ""
    return ("≤ " if results.bounded(cell) else "") + nats(list(values.values()))


def best_table(results):
    """The lowest joint KL, and those that are not clearly above it."""
    grid = results.grid
    head("lowest joint KL", *size_columns(grid.sizes))
    for pair in grid.pairs:
        texts = [" or ".join(NAMES[s] for s in best_of(results, pair, n)) for n in grid.sizes]
        if any(texts):
            row(pair, *texts)
    print()


def best_of(results, pair, n):
    """None of them where a bridge is still to be run."""
    means = {solver: results.mean((pair, solver, n)) for solver in NAMES}
    if None in (means["dlightsb"], means["dlightsb-chain"]):
        return []
    order = sorted((s for s in NAMES if means[s] is not None), key=means.get)
    return [s for s in order if results.worse((pair, s, n), (pair, order[0], n)) is False]


def mean_shape(results, pairs, solver, n):
    """Over pairs, where all of them have it."""
    means = [results.mean((pair, solver, n), SHAPE) for pair in pairs]
    return "" if None in means else f"{statistics.mean(means):.3f}"


def shape_rows(results, pairs, sizes, *first):
    for solver, name in NAMES.items():
        columns = [None if solver == "oracle" else n for n in sizes]
        texts = [mean_shape(results, pairs, solver, n) for n in columns]
        if any(texts):
            row(*first, name, *texts)


def shape_tables(results):
    """The conditional shape: means over the families, and over the pairs that networks have."""
    grid = results.grid
    head("conditional shape, mean of families", "D", "solver", *size_columns(grid.sizes))
    for dim, direction, pairs in groups(grid):
        shape_rows(results, pairs, grid.sizes, direction, str(dim))
    print()
    networks = {(pair, n) for pair, solver, n, _ in grid.runs if solver == "csbm"}
    sizes = sorted({n for _, n in networks})
    head("conditional shape, with networks", "solver", *size_columns(sizes))
    for pair in grid.pairs:
        if pair in {pair for pair, _ in networks}:
            shape_rows(results, [pair], sizes, pair)
    print()


def machine_of(line):
    """The GPU, or the processor where it trained."""
    words = line["machine"].split(", ")
    return words[-1] if line["device"] == "cuda" else ", ".join(words[:2])


def seconds_table(results):
    """Seconds of training, medians over pairs and sets."""
    sizes = results.grid.sizes
    seconds = collections.defaultdict(list)
    for (pair, solver, n), lines in results.lines[KL].items():
        for line in lines.values():
            key = dim_of(pair), solver, machine_of(line), n
            seconds[key].append(line["train_seconds"])
    head("seconds of training", "D", "on", *size_columns(sizes))
    for dim in sorted({dim for dim, *_ in seconds}):
        for solver, name in NAMES.items():
            for machine in sorted({m for d, s, m, n in seconds if (d, s) == (dim, solver) and n}):
                found = [seconds.get((dim, solver, machine, n)) for n in sizes]
                texts = [seconds_text(statistics.median(times)) if times else "" for times in found]
                row(name, str(dim), machine, *texts)
    print()


def seconds_text(seconds):
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def promise_tables(results):
    """No default bridge is clearly worse than both baselines. Where a baseline has no KL, the other
    one decides."""
    counts = {solver: collections.Counter() for solver in BRIDGES}
    breaks = []
    for pair in results.grid.pairs:
        for n in results.grid.sizes:
            for solver in BRIDGES:
                verdicts = [
                    results.worse((pair, solver, n), (pair, other, n)) for other in BASELINES
                ]
                known = [verdict for verdict in verdicts if verdict is not None]
                if not known:
                    continue
                counts[solver]["judged"] += 1
                counts[solver].update(o for o, worse in zip(BASELINES, verdicts) if worse)
                counts[solver]["both"] += all(known)
                if all(known):
                    breaks.append((pair, solver, n))
    names = [NAMES[other] for other in BASELINES]
    head("default of", "cells", *(f"worse than {name}" for name in names), "than both")
    for solver, count in counts.items():
        row(NAMES[solver], *(str(count[key]) for key in ("judged", *BASELINES, "both")))
    print()
    head("worse than both", "n", "solver", "its joint KL", *names)
    for pair, solver, n in breaks:
        texts = [kl_text(results, (pair, s, n)) for s in (solver, *BASELINES)]
        row(pair, f"{n:,}", NAMES[solver], *texts)
    print()


def slope(curve):
    """Of log KL against log n, by least squares."""
    if len(curve) < 2:
        return ""
    logs = [[math.log(number) for number in numbers] for numbers in (curve, curve.values())]
    return f"{statistics.linear_regression(*logs).slope:.2f}"


def crossing(curve, other):
    """From and to which n a curve is below another, straight lines between logarithms."""
    sizes = [n for n in curve if n in other]
    if not sizes:
        return ""
    gaps = [math.log(curve[n] / other[n]) for n in sizes]
    if max(gaps) < 0 or min(gaps) >= 0:
        return "always" if max(gaps) < 0 else "never"
    words = []
    for n, after, gap, next_gap in zip(sizes, sizes[1:], gaps, gaps[1:]):
        if (gap < 0) != (next_gap < 0):
            place = math.exp(math.log(n) + math.log(after / n) * gap / (gap - next_gap))
            words.append(f"{'to' if gap < 0 else 'from'} {float(f'{place:.2g}'):,.0f}")
    return " ".join(words)


def rates_table(results):
    head("joint KL against n", "solver", "slope", *(f"below {NAMES[other]}" for other in BASELINES))
    for pair in results.grid.pairs:
        name = pair
        for solver in results.solvers(pair):
            curve = results.curve(pair, solver)
            others = [] if solver in BASELINES else [results.curve(pair, s) for s in BASELINES]
            texts = [crossing(curve, other) for other in others] or [""] * len(BASELINES)
            row(name, NAMES[solver], slope(curve), *texts)
            name = ""
    print()


def stopping_tables():
    """The update that held-out rows chose beside the best one by the truth."""
    lines = lines_of(FOLDER / "stopping.jsonl")
    columns = ("solver", "n", "set", "update", "joint KL", "best update", "its KL", "ratio")
    head("held-out rows stop", *columns)
    ratios = {}
    for line in lines:
        found = ratios.setdefault(line["solver"], [])
        texts = [f"{line[key]:,}" for key in ("samples", "training_set", "held_out_update")]
        if line.get(KL) is None:
            texts += [""] * 4
        else:
            found.append(line[KL] / line["best_joint_kl"])
            texts += [nats([line[KL]]), f"{line['best_update']:,}", nats([line["best_joint_kl"]])]
            texts.append(f"{found[-1]:.3f}")
        row(line["pair"], NAMES[line["solver"]], *texts)
    print()
    head("stopped by held-out rows", "cells", "within 5 % of the best", "median ratio", "largest")
    for solver, found in ratios.items():
        close = sum(ratio <= CLOSE for ratio in found)
        texts = [f"{number(found):.3f}" if found else "" for number in (statistics.median, max)]
        row(NAMES[solver], str(len(found)), str(close), *texts)
    print()


def figure(results, path):
    """A panel for each forward pair, D downwards."""
    rows = [(dim, pairs) for dim, way, pairs in groups(results.grid) if way == "forward"]
    if not any(results.solvers(pair) for _, pairs in rows for pair in pairs):
        print("samples.py: there is nothing to draw yet")
        return
    plt = pyplot("samples")
    drawn, panels = plt.subplots(
        len(rows), 4, figsize=(8.4, 5.2), sharex=True, sharey="row", layout="constrained"
    )
    handles = {}
    for line, (dim, pairs) in zip(panels, rows):
        for panel, pair in zip(line, pairs):
            for solver in results.solvers(pair):
                handles[solver] = draw_curve(panel, results, pair, solver)
            panel.set_title(f"{family_of(pair)}, D = {dim}", fontsize=9)
            panel.set_xscale("log")
            panel.set_yscale("log")
            panel.set_xticks(results.grid.sizes, [short(n) for n in results.grid.sizes])
            panel.tick_params(axis="x", which="minor", length=0)
            panel.grid(color="#eef0f2")
        line[0].set_ylabel("joint KL, nats")
    for panel in panels[-1]:
        panel.set_xlabel("rows a side, n")
    shown = [solver for solver in NAMES if solver in handles]
    drawn.legend(
        [handles[solver] for solver in shown],
        [NAMES[solver] for solver in shown],
        loc="outside lower center",
        ncols=4,
        frameon=False,
    )
    save(drawn, path)


def short(n):
    return f"{n // 1000}k" if n >= 1000 else str(n)


def draw_curve(panel, results, pair, solver):
    """Mean KLs with their errors over training sets; upper bounds are hollow and dashed."""
    curve = results.curve(pair, solver)
    bounded = any(results.bounded((pair, solver, n)) for n in curve)
    values = [list(results.values((pair, solver, n)).values()) for n in curve]
    return panel.errorbar(
        list(curve),
        list(curve.values()),
        yerr=[error_of(found) if len(found) > 1 else 0 for found in values],
        color=COLOURS.get(NAMES[solver], "#444444"),
        marker=MARKERS[solver],
        markersize=4,
        markerfacecolor="none" if bounded else None,
        linewidth=1.3,
        elinewidth=0.8,
        linestyle="--" if bounded else "-",
    )


def tables(results):
    runs_table(results)
    best_table(results)
    kl_tables(results)
    rates_table(results)
    promise_tables(results)
    shape_tables(results)
    seconds_table(results)
    stopping_tables()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    merge = commands.add_parser("slim")
    merge.add_argument("sources", nargs="+", type=pathlib.Path)
    merge.add_argument("target", type=pathlib.Path)
    for name in ("table", "missing", "promise", "rates", "stopping"):
        commands.add_parser(name)
    commands.add_parser("figure").add_argument("path", type=pathlib.Path)
    options = parser.parse_args()
    grid = Grid()
    if options.command == "slim":
        slim(grid, options.sources, options.target)
    elif options.command == "stopping":
        stopping_tables()
    elif options.command == "figure":
        figure(Results(grid), options.path)
    else:
        chosen = {
            "table": tables,
            "missing": print_missing,
            "promise": promise_tables,
            "rates": rates_table,
        }
        chosen[options.command](Results(grid))


if __name__ == "__main__":
    main()
