#!/usr/bin/env python3
"""Sampler or model? What steps that factorise cost on the truth's transitions, beside solvers.

  scripts/pages/samplers.py table    the tables of results/defects/samplers.md
  scripts/pages/samplers.py figure   results/defects/samplers.svg (matplotlib)

Both read, of results/defects, paths.jsonl (studies/sampler_paths.py), defects.jsonl
(studies/score_defects.py measure) and joints.jsonl (studies/step_joints.py), and the results of
trained solvers.
"""

import argparse
import json
import math

from families import DIMS, FAMILIES, REFERENCES
from figures import pyplot, save
from result_tables import ROOT, head, measured, row

FOLDER = ROOT / "results" / "defects"
STEPS = (1, 2, 4, 8, 16, 32, 64)
COLOURS = dict(zip(FAMILIES, ("#0072B2", "#E69F00", "#009E73", "#CC79A7")))
STYLES = {"gaussian-0.02": "-", "uniform-0.01": "--"}
TREND, AUC, PERPLEXITY = "conditional_trend_offdiagonal", "c2st_auc", "sb_perplexity"
FACTORISED = ("CSBM", "α-CSBM")  # the others draw components first
WHOLE = (("DLightSB", ""), ("DLightSB-M", "64"), ("DLightSB-chain", ""))


def lines_of(name):
    path = FOLDER / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def paths():
    """(pair, steps) -> (KL, standard error)."""
    return {
        (line["pair"], line["steps"]): (line["path_kl"], line["standard_error"])
        for line in lines_of("paths.jsonl")
    }


def joints():
    """(pair, steps) -> the line of the truth in factorised steps."""
    return {
        (line["pair"], line["size"]): line
        for line in lines_of("joints.jsonl")
        if line["defect"] == "factorised steps"
    }


def defects():
    """(pair, defect, size) -> its line."""
    return {
        (line["pair"], line["defect"], line["size"]): line for line in lines_of("defects.jsonl")
    }


def trained():
    """(method, steps, pair, score) -> (value, standard error) of the default recipes with KL; where
    two folders have it, that of the first."""
    found = {}
    for folder in ("paper", "families"):
        for (method, loss, steps, pair, score), lines in measured(folder).items():
            if loss in ("", "kl") and not pair.endswith("-reverse"):
                cell = lines[0]["value"], lines[0]["standard_error"]
                found.setdefault((method, steps, pair, score), cell)
    return found


def by_dim(pair):
    """Sorts pairs."""
    return int(pair[1:].split("-")[0]), pair


def with_csbm(results):
    """The pairs that CSBM was trained on."""
    pairs = {pair for method, _, pair, _ in results if method in FACTORISED}
    return sorted(pairs, key=by_dim)


def nats(value, error):
    """Three digits of a KL, or that it is 0 within its error."""
    if abs(value) < 1e-9:
        return "0"
    text = f"{value:.2f}" if value >= 1 else f"{value:.3f}" if value >= 0.01 else f"{value:.4f}"
    text = text.replace("-0.0000", "0.0000")
    return f"{text} ± {error:.1g}"


def path_tables(found):
    for steps in (1, 16, 64):
        print()
        head(f"path KL, {steps} step{'s' * (steps > 1)}", *FAMILIES)
        for dim in DIMS:
            for reference in REFERENCES:
                name = f"d{dim}-{reference}"
                cells = [found.get((name + suffix, steps)) for suffix in FAMILIES.values()]
                row(name, *("" if cell is None else nats(*cell) for cell in cells))


def joint_table(found, lines):
    """The truth in factorised steps: how much of the loss of a path's steps reaches its ends."""
    print()
    head(
        "truth in factorised steps",
        "steps",
        "rows × particles",
        "joint KL, at most",
        "half the particles add",
        "path KL",
        "trajectory KL + sampler's part",
    )
    for pair, steps in sorted(lines, key=lambda key: (*by_dim(key[0]), key[1])):
        if steps in (16, 64) and pair.endswith("-spread"):
            line, (sampler, error) = lines[pair, steps], found[pair, steps]
            trajectory = line["trajectory_kl"]
            row(
                pair,
                str(steps),
                f"{line['rows']:,} × {line['particles']}",
                nats(*line["joint_kl"]),
                f"{line['half_particles_change']:.4f}",
                nats(*line["path_kl"]),
                nats(trajectory[0] + sampler, math.hypot(trajectory[1], error)),
            )


def parts_tables(found, results):
    """KL(truth || solver) of solvers as trained, in the sampler's and the model's part."""

    def text(method, steps, pair, score):
        cell = results.get((method, steps, pair, score))
        return "" if cell is None else nats(*cell)

    def rest(pair):
        """What the joint KL of Feature-wise SB has beyond one factorised step."""
        if (all_of_it := results.get(("Feature-wise SB", "", pair, "joint_kl"))) is None:
            return ""
        (kl, error), sampler = all_of_it, found[pair, 1]
        return nats(kl - sampler[0], math.hypot(error, sampler[1]))

    print()
    head("path KL", "steps", "sampler's part", *(f"{method}'s model" for method in FACTORISED))
    for pair in with_csbm(results):
        for steps in ("16", "64"):
            models = [text(method, steps, pair, "forward_trajectory_kl") for method in FACTORISED]
            if any(models):
                row(pair, steps, nats(*found[pair, int(steps)]), *models)
    print()
    head(
        "joint KL",
        "one factorised step",
        "Feature-wise SB's model",
        *(f"{method}'s model" for method, _ in WHOLE),
    )
    for pair in with_csbm(results):
        models = [text(*solver, pair, "joint_kl") for solver in WHOLE]
        row(pair, nats(*found[pair, 1]), rest(pair), *models)


def score_tables(lines):
    pairs = list(dict.fromkeys(pair for pair, defect, _ in lines if defect == "factorised steps"))
    pairs.sort(key=by_dim)
    whole = sorted({size for _, defect, size in lines if defect == "whole steps"})
    for score, name, digits in (
        (TREND, "cond. trend", 4),
        (AUC, "C2ST AUC", 3),
        (PERPLEXITY, "SB perplexity", 3),
    ):
        print()
        head(name, *map(str, STEPS), *(f"whole, {steps}" for steps in whole), "Oracle")
        keys = [("factorised steps", steps) for steps in STEPS]
        keys += [("whole steps", steps) for steps in whole] + [("none", 0.0)]
        for pair in pairs:
            cells = [lines.get((pair, *key)) for key in keys]
            row(pair, *("" if cell is None else f"{cell[score]:.{digits}f}" for cell in cells))


def trained_table(lines, results):
    """How far from the Oracle: the sampler of a solver on the truth, and the solver as trained."""
    print()
    solvers = [(method, "64") for method in FACTORISED] + list(WHOLE)
    head("cond. trend below the Oracle's", "64 factorised steps", *(name for name, _ in solvers))
    for pair in with_csbm(results):
        oracle = lines.get((pair, "none", 0.0))
        sampler = lines.get((pair, "factorised steps", 64))
        if oracle is None or sampler is None:
            continue
        cells = [results.get((*solver, pair, TREND)) for solver in solvers]
        row(
            pair,
            f"{oracle[TREND] - sampler[TREND]:.4f}",
            *("" if cell is None else f"{oracle[TREND] - cell[0]:.4f}" for cell in cells),
        )


def figure(found, lines, results):
    plt = pyplot("samplers")
    drawn, panels = plt.subplots(
        2, 3, figsize=(7.4, 5.2), sharex=True, sharey="row", layout="constrained"
    )
    hollow = {"linestyle": "", "marker": "D", "markerfacecolor": "none"}
    for (top, bottom), dim in zip(panels.T, DIMS):
        top.set_title(f"D = {dim}", fontsize=9)
        for reference, style in STYLES.items():
            for family, suffix in FAMILIES.items():
                pair, colour = f"d{dim}-{reference}{suffix}", COLOURS[family]
                look = {"color": colour, "linestyle": style, "marker": "o", "markersize": 3}
                look |= {"linewidth": 1.2, "label": family if style == "-" else None}
                points = [(n, found[pair, n][0]) for n in STEPS if (pair, n) in found]
                top.plot(*zip(*points), **look)
                if csbm := results.get(("CSBM", "64", pair, "forward_trajectory_kl")):
                    top.plot(64, csbm[0], color=colour, **hollow)
                oracle = lines.get((pair, "none", 0.0))
                if oracle is None:
                    continue
                scored = {n: lines.get((pair, "factorised steps", n)) for n in STEPS}
                points = [(n, oracle[TREND] - line[TREND]) for n, line in scored.items() if line]
                bottom.plot(*zip(*points), **look)
                if csbm := results.get(("CSBM", "64", pair, TREND)):
                    bottom.plot(64, oracle[TREND] - csbm[0], color=colour, **hollow)
        top.set_yscale("symlog", linthresh=0.001, linscale=0.4)
        bottom.set_yscale("symlog", linthresh=0.001, linscale=0.4)
        bottom.set_xscale("log", base=2)
        bottom.set_xticks(STEPS, [str(n) for n in STEPS])
        bottom.minorticks_off()
        bottom.set_xlabel("factorised steps")
        for panel in (top, bottom):
            panel.grid(color="#eef0f2")
    panels[0, 0].set_ylabel("path KL, nats")
    panels[1, 0].set_ylabel("cond. trend below the Oracle's")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    handles += [plt.Line2D([], [], color="#555555", linestyle=s) for s in STYLES.values()]
    handles.append(plt.Line2D([], [], color="#555555", **hollow))
    labels += [*STYLES, "CSBM as trained"]
    drawn.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    save(drawn, FOLDER / "samplers.svg")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("table")
    commands.add_parser("figure")
    options = parser.parse_args()
    if options.command == "table":
        path_tables(paths())
        parts_tables(paths(), trained())
        joint_table(paths(), joints())
        score_tables(defects())
        trained_table(defects(), trained())
    else:
        figure(paths(), defects(), trained())


if __name__ == "__main__":
    main()
