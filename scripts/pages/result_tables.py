#!/usr/bin/env python3
"""result_tables.py NAME: prints the tables of results/NAME/README.md, NAME dlightsb, chain, csbm,
samples or switch-rate.
"""

import json
import math
import statistics
import sys

from published import ROOT, SCORE, published
from result_lines import score_lines

EXACT = "exact_conditional_shape_score"
PAPER = ", published recipe"
FROM_P1 = PAPER + ", start on p1"
NETWORKS = {"csbm": "CSBM", "alpha-csbm": "α-CSBM"}
PAIRS = [
    f"d{dim}-{reference}"
    for dim in (2, 16, 64)
    for reference in ("gaussian-0.02", "gaussian-0.05", "uniform-0.005", "uniform-0.01")
]


def measured(name, file="results.jsonl"):
    """(method, loss, steps, pair, score) -> the lines of its training seeds, in their order."""
    cells = {}
    for line in score_lines(ROOT / "results" / name / file):
        if line["value"] is not None:
            key = line["method"], line["loss"], line["num_steps"], line["pair"], line["score"]
            cells.setdefault(key, []).append(line)
    return cells


def row(*words):
    print("| " + " | ".join(words) + " |")


def head(*words):
    row(*words)
    row(*["---"] * len(words))


def dlightsb():
    """How long a training takes for which quality, on each machine that has measured it."""
    cells = measured("dlightsb")
    seconds_of = {"cuda": "H200, s", "cpu": "two Arm cores, s"}
    for solver in ("dlightsb", "dlightsb-m"):
        head("pair", "updates", "rows", *seconds_of.values(), "exact shape", "joint KL")
        for (method, loss, steps, pair, score), lines in sorted(cells.items(), key=place_of):
            options = lines[0]["options"]
            if score != EXACT or lines[0]["solver"] != solver:
                continue
            seconds = {line["device"]: f"{line['train_seconds']:.2f}" for line in lines}
            row(
                pair,
                f"{int(options['updates']):,}" + (", before" if method == "old" else ""),
                f"{int(options['batch_size']):,}",
                *(seconds.get(device, "") for device in seconds_of),
                f"{lines[0]['value']:.4f}",
                digits_of(cells[method, loss, steps, pair, "joint_kl"][0]),
            )
        print()
    published_recipe()


def place_of(cell):
    """Pairs by their size and name, each with its older lines first."""
    (method, _, _, pair, _), lines = cell
    return lines[0]["dim"], pair, method != "old", int(lines[0]["options"]["updates"])


def published_recipe():
    """The published recipe of both CP solvers, and DLightSB-M's from another start."""
    cells, paper = measured("dlightsb", "recipes.jsonl"), published()

    def values(method, pair, score):
        return [line["value"] for line in cells.get((*method, pair, score), [])]

    def text(method, pair, score):
        return ", ".join(f"{value:.4f}" for value in values(method, pair, score))

    head("pair", "solver", "ours", "Oracle, ours", "published", "exact, ours")
    for name, loss, steps in (("DLightSB", "", ""), ("DLightSB-M", "kl", "64")):
        for pair in PAIRS:
            ours = values((name + PAPER, loss, steps), pair, SCORE)
            if ours:
                row(
                    pair,
                    name,
                    f"{statistics.mean(ours):.3f}",
                    f"{values(('Oracle', '', ''), pair, SCORE)[0]:.3f}",
                    f"{paper[name, loss.upper(), steps, pair + '-spread']:.3f}",
                    text((name + PAPER, loss, steps), pair, EXACT),
                )
    print()

    head("pair", "score", "start on p0, seeds 0 to 2", "start on p1, seeds 0 to 2")
    scores = {SCORE: "conditional shape", EXACT: "exact conditional shape", "joint_kl": "joint KL"}
    for pair in ("d2-gaussian-0.02", "d16-gaussian-0.02"):
        for score, name in scores.items():
            row(
                pair,
                name,
                *(
                    text(("DLightSB-M" + start, "kl", "64"), pair, score)
                    for start in (PAPER, FROM_P1)
                ),
            )


def digits_of(line):
    """Value and error to the error's first two digits."""
    digits = max(0, 1 - math.floor(math.log10(line["standard_error"])))
    return f"{line['value']:.{digits}f} ±{line['standard_error']:.{digits}f}"


CP_AND_CHAIN = [
    ("Feature-wise SB", "", ""),
    ("DLightSB", "", ""),
    ("DLightSB-M", "kl", "64"),
    ("DLightSB-chain", "", ""),
]


def joint_kls(cells, pair):
    return [digits_of(cells[(*method, pair, "joint_kl")][0]) for method in CP_AND_CHAIN]


def chain():
    recipes = measured("chain", "recipe.jsonl")
    head("pair", "recipe", "training, s", "exact shape", "joint KL")
    for (method, _, _, pair, score), lines in recipes.items():
        if score == EXACT:
            row(
                pair,
                method,
                f"{lines[0]['train_seconds']:.1f}",
                f"{lines[0]['value']:.4f}",
                digits_of(recipes[method, "", "", pair, "joint_kl"][0]),
            )
    print()

    starts = measured("chain", "starts.jsonl")
    methods = list(dict.fromkeys(method for method, *_ in starts))
    pairs = list(dict.fromkeys(pair for *_, pair, _ in starts))
    head(
        "joint KL",
        *(
            ", ".join(word.replace("=", " ") for word in settings_of(starts, method))
            for method in methods
        ),
    )
    for pair in pairs:
        lines = (starts.get((method, "", "", pair, "joint_kl")) for method in methods)
        row(pair, *(f"{line[0]['value']:.2g}" if line else "" for line in lines))


def settings_of(cells, method):
    return next(lines[0]["set"] for key, lines in cells.items() if key[0] == method)


def csbm():
    cells = measured("csbm", "iterations.jsonl")
    scores = ("shape_score", SCORE, "forward_trajectory_kl", "reverse_trajectory_kl")
    head("α-CSBM, 16 steps, KL", "shape", "conditional shape", "forward KL", "reverse KL")
    for method in dict.fromkeys(method for method, *_ in cells):
        pair = "d64-gaussian-0.05-spread"
        words = [word for word in settings_of(cells, method) if not word.startswith("num_steps")]
        row(
            ", ".join(f"`{word}`" for word in words) or "default",
            *(f"{cells[method, 'kl', '16', pair, score][0]['value']:.3f}" for score in scores),
        )

    print()
    csbm_on_truth_pairs()
    csbm_ends()
    csbm_first_share()
    csbm_walk_ends()


def study_lines(file):
    """The lines of studies/csbm_iterations.cc in their order."""
    return map(json.loads, (ROOT / "results" / "csbm" / file).read_text().splitlines())


def at_most(scores):
    """The joint KL by particles, an upper bound, with its error."""
    value = {"value": scores["joint_kl"], "standard_error": scores["standard_errors"]["joint_kl"]}
    return digits_of(value)


def csbm_on_truth_pairs():
    head("hidden", "updates", "rows", "rate", "joint KL, at most", "half the particles add")
    for line in study_lines("truth-pairs.jsonl"):
        options = line["options"]
        row(
            options["hidden"].replace(",", "-").replace("auto", "128-128-128"),
            f"{int(options['updates_first']):,}",
            options["batch_size"],
            options["learning_rate"],
            at_most(line),
            f"{line['joint_kl_half_particles_change']:.3f}",
        )
    print()


def shares(values):
    return ", ".join(f"{share:.3f}" for share in values)


def csbm_ends():
    """Where the walk ends after each iteration, from rows of p0 and from drawn ones."""
    runs = {}
    for line in study_lines("ends.jsonl"):
        key = line["pair"], line["truth_pairs"], tuple(line["set"])
        runs.setdefault(key, []).append(line)
    drawn, bound = "from drawn x0", "joint KL, at most"
    head("pair", "iteration", "shape", drawn, "shares", drawn, bound)
    for (pair, truth_pairs, words), lines in runs.items():
        name = [pair, "pairs of the truth"] if truth_pairs else [pair]
        name += [f"`{word}`" for word in words if not word.startswith("num_steps")]
        row(", ".join(name), "the truth's", "", "", shares(lines[0]["shares"]["truth"]), "", "")
        for line in lines:
            row(
                "",
                str(line["iteration"]),
                f"{line['shape_score']:.3f}",
                f"{line['shape_from_drawn']:.3f}",
                shares(line["shares"]["from_x0"]),
                shares(line["shares"]["from_drawn"]),
                at_most(line),
            )
    print()


def csbm_first_share():
    """Joint KLs of both directions without first pairs (results/judge), with a share of them, and
    with the default, which looks for drift."""
    without = {
        (line["pair"], line["solver"]): digits_of(line)
        for line in score_lines(ROOT / "results" / "judge" / "judge.jsonl")
        if line["score"] == "joint_kl"
    }
    shared = {
        (pair, line["solver"]): scores
        for line in study_lines("first-share.jsonl")
        for pair, scores in both_ways(line)
    }
    bound = "joint KL, at most"
    head(
        "pair",
        "solver",
        "lost an end in",
        f"{bound}: `first_share=0`",
        "0.5",
        "auto",
        "shape, auto",
    )
    for line in study_lines("first-share-auto.jsonl"):
        lost = line["diagnostics"]["drifted_after_iteration"]
        for pair, scores in both_ways(line):
            key = pair, line["solver"]
            row(
                pair,
                NETWORKS[line["solver"]],
                f"iteration {lost}" if lost else "",
                without.get(key, ""),
                at_most(shared[key]) if key in shared else "",
                at_most(scores),
                f"{scores['shape_score']:.3f}",
            )
    print()


def csbm_walk_ends():
    """The shape where walks end after each D-IMF iteration of the default."""
    head("walks of", "solver", "forward, after each iteration", "backward", "lost an end in")
    for line in (*study_lines("walk-ends.jsonl"), *study_lines("first-share-auto.jsonl")):
        found = line["diagnostics"]
        lost = found["drifted_after_iteration"]
        row(
            line["pair"],
            NETWORKS[line["solver"]],
            found["walk_shapes_forward"],
            found["walk_shapes_backward"],
            f"iteration {lost}" if lost else "",
        )
    print()


def both_ways(line):
    """(pair, scores) of a training, forward and reversed."""
    return (line["pair"], line), (line["pair"] + "-reverse", line["reverse"])


def switch_rate():
    cells = measured("switch-rate")
    head("pair", *(name for name, _, _ in CP_AND_CHAIN))
    for base in ("d16-uniform-0.005-chain", "d64-gaussian-0.02-chain"):
        for rate in ("0", "0.01", "0.03", "0.1", "0.3"):
            row(f"{base}-{rate}", *joint_kls(cells, f"{base}-{rate}"))


def samples():
    """The joint KL on n rows, a mean over training sets, and what the rows held out chose."""
    sizes = (300, 1000, 3000, 10000, 100000)
    by_pair = {}
    for line in (ROOT / "results" / "samples" / "few-rows.jsonl").read_text().splitlines():
        line = json.loads(line)
        key = line["pair"], line["solver"]
        by_pair.setdefault(key, {}).setdefault(line["samples"], []).append(line)
    head("joint KL, nats", "solver", "training sets", *(f"n = {n:,}" for n in sizes))
    for (pair, solver), cells in by_pair.items():
        row(
            pair,
            solver,
            str(len(cells[300])),
            *(
                f"{statistics.mean(line['value'] for line in cells[n]):.3g}" if n in cells else ""
                for n in sizes
            ),
        )
    print()
    head("chosen, of each set", *(f"n = {n:,}" for n in sizes))
    for (pair, _), cells in by_pair.items():
        row(
            pair,
            *(", ".join(chosen(line["diagnostics"]) for line in cells.get(n, ())) for n in sizes),
        )


def chosen(found):
    size = found.get("components", found.get("states"))
    return f"{size} / {found['smoothing']:g} / {found['shrinkage']:g}"


if __name__ == "__main__":
    tables = {
        "dlightsb": dlightsb,
        "chain": chain,
        "csbm": csbm,
        "samples": samples,
        "switch-rate": switch_rate,
    }
    if sys.argv[1:] not in ([name] for name in tables):
        sys.exit(__doc__)
    tables[sys.argv[1]]()
