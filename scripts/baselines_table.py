#!/usr/bin/env python3
"""Tables of the baselines from the lines that scripts/baselines.sh measured.

Reads results/baselines/{runs,reverse,instances}.jsonl and the published tables, writes table.md,
table.csv and instances.md beside the former. Standard library only.
"""

import csv
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "results" / "baselines")
PUBLISHED = ROOT / "bridgemark" / "experiment" / "data" / "published.csv"
DIMS = (2, 16, 64)
REFERENCES = ("gaussian-0.02", "gaussian-0.05", "uniform-0.005", "uniform-0.01")
PAIRS = [f"d{dim}-{reference}" for dim in DIMS for reference in REFERENCES]
SOLVERS = {"oracle": "Oracle", "independent": "Independent", "reference": "Reference",
           "feature-wise": "Feature-wise SB"}
COMPARED = {"conditional_shape_score": "Conditional shape score",
            "conditional_trend_score": "Conditional trend score",
            "shape_score": "Shape score",
            "trend_score": "Trend score",
            "forward_trajectory_kl": "Forward trajectory KL (sum over 16 steps and D dimensions)",
            "reverse_trajectory_kl": "Reverse trajectory KL (sum over 16 steps and D dimensions)"}
OWN = {"exact_conditional_shape_score": "Exact conditional shape score",
       "joint_kl": "Joint KL, nats (its error is that of the 20,000 test pairs)",
       "sb_perplexity": "SB perplexity, exp(-mean log q*(x1|x0) / D) of the answers",
       "mean_marginal_entropy": "Mean marginal entropy of the answers, nats"}
FAR = 0.1
STEPS = 16


def load(name):
    path = FOLDER / name
    cells = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(cell["pair"], cell["solver"]): cell for cell in cells}


def load_paper():
    paper = {}
    with open(PUBLISHED, newline="") as file:
        for row in csv.DictReader(file):
            if row["method"] not in SOLVERS.values():
                continue
            for pair in PAIRS:
                column = pair.replace("-", "_")
                paper[row["table"], row["method"], pair] = float(row[column])
    return paper


def is_kl(metric):
    return metric.endswith("_kl")


def number(value, metric):
    if value is None:
        return "–"
    if metric == "sb_perplexity":
        return f"{value:.4g}"
    return f"{value:.2f}" if is_kl(metric) else f"{value:.3f}"


def with_error(cell, metric):
    value, error = cell.get(metric), cell["standard_errors"].get(metric)
    if value is None:
        return "–"
    text = number(value, metric)
    if error is None:
        return text
    if metric == "sb_perplexity":
        return f"{text} ± {error:.2g}"
    return f"{text} ± {error:.{2 if is_kl(metric) else 4}f}"


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| --- " * len(header) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


def per_step(value, pair):
    """A sum over steps and dimensions on the published scale, the mean over both."""
    return value / (STEPS * int(pair.split("-")[0][1:]))


def elementary_matrix(reference, S=50):
    """One elementary step of a preset's reference process, as the paper states it."""
    kind, gamma = reference.split("-")[0], float(reference.split("-")[1])
    if kind == "uniform":
        return [[1 - gamma if x == y else gamma / (S - 1) for y in range(S)] for x in range(S)]
    weight = [math.exp(-4 * delta**2 / (gamma * (S - 1))**2) for delta in range(S)]
    total = 2 * sum(weight) - 1
    matrix = [[weight[abs(x - y)] / total if x != y else 0.0 for y in range(S)] for x in range(S)]
    for x in range(S):
        matrix[x][x] = 1 - sum(matrix[x])
    return matrix


def product(a, b):
    columns = list(zip(*b))
    return [[sum(p * q for p, q in zip(row, column)) for column in columns] for row in a]


def cumulative_kl(reference, S=50, total_steps=128):
    """Mean over n = 1..16 and x ~ p0 of KL(Q_1[x,.] || Q_n[x,.]): what comparing a one-step law
    with cumulative matrices gives for a chain that is the reference itself. No truth enters."""
    edges = [-7 + 14 * i / (S - 2) for i in range(S - 1)]
    cdf = [0.0] + [0.5 * math.erfc(-edge / math.sqrt(2)) for edge in edges] + [1.0]
    one = elementary_matrix(reference)
    for _ in range((total_steps // STEPS).bit_length() - 1):
        one = product(one, one)
    cumulative, total = one, 0.0
    for _ in range(STEPS):
        for x in range(S):
            total += (cdf[x + 1] - cdf[x]) * sum(
                p * math.log(p / q) for p, q in zip(one[x], cumulative[x]) if p > 0)
        cumulative = product(cumulative, one)
    return total / STEPS


class Siblings:
    """Ranges of a score over freshly drawn instances of a pair."""

    def __init__(self, cells):
        self.values = {}
        for (name, solver), cell in cells.items():
            pair, rest = name.split("-sigma-")
            sigma = float(rest.split("-seed-")[0])
            for metric in COMPARED:
                if cell.get(metric) is not None:
                    value = per_step(cell[metric], pair) if is_kl(metric) else cell[metric]
                    self.values.setdefault((pair, solver, metric, sigma), []).append(value)

    def sigma(self, pair):
        return 2.5 if pair.startswith("d64") else 1.5

    def find(self, pair, solver, metric, sigma):
        return self.values.get((pair, solver, metric, sigma), [])

    def text(self, pair, solver, metric, sigma):
        values = self.find(pair, solver, metric, sigma)
        return f"{min(values):.3f}–{max(values):.3f}" if values else "–"

    def holds(self, pair, solver, metric, sigma, value):
        values = self.find(pair, solver, metric, sigma)
        return bool(values) and min(values) <= value <= max(values)


def comparison_tables(runs, paper):
    lines = []
    for metric, title in COMPARED.items():
        lines += [f"### {title}", ""]
        rows = []
        for solver, label in SOLVERS.items():
            if is_kl(metric) and solver == "independent":
                continue  # it has no transitions
            rows.append([label] + [with_error(runs[pair, solver], metric) if (pair, solver) in runs
                                   else "?" for pair in PAIRS])
            if (metric, label, PAIRS[0]) in paper:
                rows.append([f"_{label}, paper_"] + [f"_{paper[metric, label, pair]:g}_"
                                                      for pair in PAIRS])
        lines += markdown([""] + PAIRS, rows)
    return lines


def own_tables(runs):
    lines = []
    for metric, title in OWN.items():
        rows = [[label] + [with_error(runs[pair, solver], metric) if (pair, solver) in runs else "?"
                           for pair in PAIRS]
                for solver, label in SOLVERS.items()
                if any(runs.get((pair, solver), {}).get(metric) is not None for pair in PAIRS)]
        lines += [f"### {title}", ""] + markdown([""] + PAIRS, rows)
    return lines


def far_cells(runs, paper):
    for metric in COMPARED:
        for solver, label in SOLVERS.items():
            for pair in PAIRS:
                published = paper.get((metric, label, pair))
                measured = runs.get((pair, solver), {}).get(metric)
                if published is not None and measured is not None and \
                        abs(measured - published) > FAR:
                    yield metric, solver, label, pair, measured, published


REASONS = {
    "scale": "The published cell is a mean over steps and dimensions, ours the sum that the paper "
             "defines (docs/corrections.md, fault 3); divided by 16 D ours comes within 0.1 of it:",
    "scale, siblings": "The published cell is a mean over steps and dimensions, ours a sum (fault "
                       "3); divided by 16 D ours still differs by more than 0.1, but the published "
                       "value lies in the range of the siblings on that scale, so the drawn "
                       "instance explains the rest:",
    "cumulative": "The published cell is a mean over steps and dimensions and takes cumulative "
                  "matrices for one-step ones (fault 3); the same mean of KL(one step || n steps) "
                  "of the reference alone, where no truth enters, is within 0.15 of it, so the "
                  "wrong matrices account for most of the cell and the pair for little:",
    "cumulative, open": "The published cell is a mean over steps and dimensions and takes "
                        "cumulative matrices for one-step ones (fault 3); divided by 16 D ours "
                        "still differs by more than 0.1 and no sibling reaches it; the wrong "
                        "matrices may explain that, but it was not reproduced in this direction:",
    "scale, open": "The published cell is a mean over steps and dimensions, ours a sum (fault 3); "
                   "divided by 16 D ours still differs by more than 0.1 and no sibling reaches the "
                   "published value; that it stopped after 10 D-IMF iterations (fault 9) may "
                   "explain it, but was not reproduced here:",
    "siblings": "The instance differs: means are drawn on a sphere, so how far the components lie "
                "from p0 and from each other is up to the draw, and the published cell lies in the "
                "range of freshly drawn siblings of the same width:",
    "width": "The published cell lies outside the range of our siblings of the paper's width but "
             "inside that of siblings of width 2, which the published code has for every D (fault "
             "7); both the width and the drawn instance differ:",
    "between": "The published cell lies outside the range of our siblings of the paper's width, "
               "but a width between that and the 2 of the published code, or another draw, may "
               "reach it:",
    "reference below": "No draw of ours reaches these: the published cell lies "
                       "below every sibling of either width, often by many times their spread. p0 "
                       "pushed through the reference meets less of the published p1, which "
                       "suggests that the published components lie farther from p0 than radius 5 "
                       "and these widths give; the published instances have no seed and another "
                       "width in code than in text (fault 7), so they cannot be rebuilt to check:",
    "reference above": "The published cell lies above every sibling of either width: it suggests "
                       "published components nearer to p0 than in our draws, which cannot be "
                       "checked without the published instance:",
    "independent above": "No draw of ours reaches these: the published cell lies "
                         "above every sibling of either width. The published conditionals are "
                         "nearer to p1 itself, which suggests that fewer components carry p1's "
                         "mass, or that they overlap more, than in pairs built as the paper says:",
    "independent below": "No draw of ours reaches these: the published cell lies "
                         "below every sibling of either width. The published conditionals are "
                         "farther from p1, which suggests components farther apart, so that x0 "
                         "decides more about x1, than in pairs built as the paper says:",
    "feature-wise above": "No draw of ours reaches these: the published cell lies "
                          "above every sibling of either width. The published target is nearer to "
                          "a product of its coordinates, which suggests that fewer components "
                          "carry its mass; fewer D-IMF iterations (fault 9) would not raise it:",
    "feature-wise below": "The published cell lies below every sibling of either width: it "
                          "suggests a published target farther from a product of its coordinates, "
                          "components farther apart; the 10 D-IMF iterations of the published code "
                          "(fault 9) may add to it:",
}


def reason(siblings, metric, solver, pair, measured, published):
    sigma = siblings.sigma(pair)
    if is_kl(metric):
        if solver == "reference" and metric.startswith("forward") and \
                abs(CUMULATIVE[pair.split("-", 1)[1]] - published) < 0.15:
            return "cumulative"
        if abs(per_step(measured, pair) - published) <= FAR:
            return "scale"
        if any(siblings.holds(pair, solver, metric, width, published) for width in (sigma, 2.0)):
            return "scale, siblings"
        return "cumulative, open" if solver == "reference" else "scale, open"
    if siblings.holds(pair, solver, metric, sigma, published):
        return "siblings"
    if siblings.holds(pair, solver, metric, 2.0, published):
        return "width"
    drawn = siblings.find(pair, solver, metric, sigma) + siblings.find(pair, solver, metric, 2.0)
    if not drawn or min(drawn) < published < max(drawn):
        return "between"
    return f"{solver} {'below' if published < min(drawn) else 'above'}"


def explanations(runs, paper, siblings):
    groups = {}
    count = 0
    for metric, solver, label, pair, measured, published in far_cells(runs, paper):
        count += 1
        key = reason(siblings, metric, solver, pair, measured, published)
        sigma = siblings.sigma(pair)
        if is_kl(metric):
            alone = f"; reference alone {CUMULATIVE[pair.split('-', 1)[1]]:.3f}" \
                if key == "cumulative" else ""
            detail = (f"{number(measured, metric)}, per step and dimension "
                      f"{per_step(measured, pair):.3f}; paper {published:g}; siblings "
                      f"{siblings.text(pair, solver, metric, sigma)}{alone}")
        else:
            detail = (f"{number(measured, metric)}; paper {published:g}; siblings "
                      f"{siblings.text(pair, solver, metric, sigma)}, of width 2 "
                      f"{siblings.text(pair, solver, metric, 2.0)}")
        groups.setdefault(key, []).append(f"  - {metric}, {label}, {pair}: {detail}")
    total = sum((metric, SOLVERS[solver], pair) in paper for metric in COMPARED
                for solver in SOLVERS for pair in PAIRS)
    lines = [f"{count} of {total} published cells differ from ours by more than {FAR}. Each is "
             "named below with its reason; ranges are those of instances.md.", ""]
    for key, sentence in REASONS.items():
        if key in groups:
            lines += [f"- {sentence}"] + groups[key] + [""]
    return lines


def reverse_tables(reverse):
    lines = []
    scores = {"c2st_auc": "C2ST AUC (0.5: cannot be told from the truth)",
              "c2st_score": "C2ST score, 1 - 2 |AUC - 1/2|", "shape_score": "Shape score"}
    conditional = {"conditional_shape_score": "Conditional shape score",
                   "conditional_trend_score": "Conditional trend score",
                   "exact_conditional_shape_score": "Exact conditional shape score",
                   "joint_kl": "Joint KL, nats"}
    for metric, title in (scores | conditional).items():
        pairs = [pair for pair in PAIRS if metric in scores or pair.startswith("d2-")]
        rows = []
        for solver, label in SOLVERS.items():
            cells = [reverse.get((f"{pair}-reverse", solver)) for pair in pairs]
            if any(cell and cell.get(metric) is not None for cell in cells):
                rows.append([label] + [with_error(cell, metric) if cell else "–"
                                       for cell in cells])
        lines += [f"### {title}", ""] + markdown([""] + pairs, rows)
    return lines


def write_csv(runs, reverse, paper):
    with open(FOLDER / "table.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["pair", "solver", "score", "value", "standard_error", "seeds", "paper",
                         "difference"])
        for cells in (runs, reverse):
            for (pair, solver), cell in cells.items():
                for metric in sorted(cell["standard_errors"]):
                    value, error = cell[metric], cell["standard_errors"][metric]
                    published = paper.get((metric, SOLVERS[solver], pair))
                    difference = None if None in (published, value) else value - published
                    texts = ["" if item is None else f"{item:.6g}"
                             for item in (value, error, published, difference)]
                    writer.writerow([pair, solver, metric, texts[0], texts[1], cell["num_seeds"],
                                     texts[2], texts[3]])


def write_table(runs, reverse, paper, siblings):
    any_cell = next(iter(runs.values()))
    fits = [cell["diagnostics"] for (_, solver), cell in runs.items() if solver == "feature-wise"]
    peak = max(cell["peak_memory_bytes"] for cell in runs.values()) / 2**20
    oracle_d2 = [runs[pair, "oracle"]["conditional_shape_score"] for pair in PAIRS[:4]]
    exact = max(abs(1 - runs[pair, "oracle"]["exact_conditional_shape_score"]) for pair in PAIRS)
    kl = max(abs(runs[pair, "oracle"][metric]) for pair in PAIRS
             for metric in ("forward_trajectory_kl", "reverse_trajectory_kl", "joint_kl"))
    lines = [
        "# Baselines", "",
        "Made by `scripts/baselines.sh` and `scripts/baselines_table.py`; do not edit. Raw lines: "
        "runs.jsonl, reverse.jsonl, instances.jsonl.", "",
        f"Bridgemark {any_cell['version']}, {any_cell['machine']}. 20,000 test pairs, 157 "
        f"conditional inputs with 1000 draws each, trajectory KL on {STEPS} steps from 1000 "
        f"starts. Mean over {any_cell['num_seeds']} seeds of the evaluation ± its standard error; "
        "Feature-wise SB is fitted once. Cells of the paper are in italics.", "",
        f"- Oracle: conditional shape at D = 2 is {min(oracle_d2):.3f}–{max(oracle_d2):.3f}; its "
        f"exact score differs from 1 by at most {exact:.1e} on the 12 presets; its trajectory and "
        f"joint KLs are at most {kl:.1e}.",
        f"- Feature-wise SB: D-IMF converged in {sum(fit['converged'] for fit in fits)} of "
        f"{len(fits)} fits, in {min(fit['iterations'] for fit in fits)} to "
        f"{max(fit['iterations'] for fit in fits)} iterations; largest total variation to the "
        f"exact one-dimensional solution "
        f"{max(fit['largest_error_against_exact'] for fit in fits):.1e}.",
        f"- Largest memory of a cell: {peak:.0f} MiB.", "",
        "## Beside the paper", ""]
    lines += comparison_tables(runs, paper)
    lines += ["## Cells that differ by more than 0.1", ""] + explanations(runs, paper, siblings)
    lines += ["## Scores the paper does not have", ""] + own_tables(runs)
    seeds = {dim: sorted({cell["num_seeds"] for (pair, _), cell in reverse.items()
                          if pair.startswith(f"d{dim}-")}) for dim in DIMS}
    lines += ["## The reverse direction, p1 → p0", "",
              "Seeds: " + ", ".join(f"D = {dim}: {' or '.join(map(str, seeds[dim]))}"
                                    for dim in DIMS if seeds[dim]) +
              ". The error of a single seed is that of the AUC on its test part. The paper has no "
              "baseline rows here, and its classifier was never trained (fault 4), so there is "
              "nothing to set beside these. The truth is enumerated at D = 2, which gives the "
              "Oracle and the conditional scores; at larger D it has no closed form.", ""]
    lines += reverse_tables(reverse)
    (FOLDER / "table.md").write_text("\n".join(lines).rstrip() + "\n")


def write_instances(runs, paper, siblings):
    metrics = list(COMPARED)
    lines = [
        "# Siblings of the presets", "",
        "How much of a baseline's score is the draw of the instance: pairs of the same "
        "construction with other seeds, one evaluation seed each, 200 trajectories. Made by "
        "`scripts/baselines.sh instances`, which builds each with", "",
        "    bridgemark build custom --dim D --reference R --gamma G --sigma W --seed N -o DIR", "",
        "for N = 1..10 (D = 2), 1..5 (D = 16) or 1..3 (D = 64) and trains and evaluates the "
        "baselines on DIR. With the preset's own width W and seed this is the preset, bit for bit. "
        "Width 2 is what the published code has for every D (docs/corrections.md, fault 7). Trajectory KLs are divided by "
        "16 D, the published scale. 'in' says whether the paper's cell lies in the range of the "
        "preset's width, of width 2, of both or of neither.", ""]
    preamble = len(lines)
    inside = total = 0
    for metric in metrics:
        rows = []
        for pair in PAIRS:
            for solver, label in SOLVERS.items():
                own = runs.get((pair, solver), {}).get(metric)
                published = paper.get((metric, label, pair))
                if published is None or own is None:
                    continue
                sigma = siblings.sigma(pair)
                own = per_step(own, pair) if is_kl(metric) else own
                hits = [name for name, width in (("preset's", sigma), ("2", 2.0))
                        if siblings.holds(pair, solver, metric, width, published)]
                where = "both" if len(hits) == 2 else hits[0] if hits else "neither"
                inside += bool(hits)
                total += 1
                rows.append([pair, label, f"{own:.3f}",
                             siblings.text(pair, solver, metric, sigma),
                             siblings.text(pair, solver, metric, 2.0), f"{published:g}", where])
        lines += [f"### {metric}", ""] + markdown(
            ["pair", "solver", "preset", "siblings, its width", "siblings, width 2", "paper", "in"],
            rows)
    lines[preamble:preamble] = [f"The paper's cell lies in one of the two ranges for {inside} of "
                                f"{total} cells.", ""]
    (FOLDER / "instances.md").write_text("\n".join(lines).rstrip() + "\n")


CUMULATIVE = {reference: cumulative_kl(reference) for reference in REFERENCES}


def main():
    runs, reverse, paper = load("runs.jsonl"), load("reverse.jsonl"), load_paper()
    missing = [f"{pair} {solver}" for pair in PAIRS for solver in SOLVERS
               if (pair, solver) not in runs]
    if missing:
        sys.exit(f"baselines_table.py: runs.jsonl lacks {', '.join(missing)}; run "
                 "scripts/baselines.sh forward")
    siblings = Siblings(load("instances.jsonl"))
    write_csv(runs, reverse, paper)
    write_table(runs, reverse, paper, siblings)
    write_instances(runs, paper, siblings)


if __name__ == "__main__":
    main()
