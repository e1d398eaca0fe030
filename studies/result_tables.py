#!/usr/bin/env python3
"""result_tables.py NAME: prints the tables of results/NAME/README.md, NAME dlightsb, sphere, reverse, chain,
csbm or switch-rate."""
import json
import math
import statistics
import sys

from published import ROOT, SCORE, published

EXACT = "exact_conditional_shape_score"
PAPER = ", published recipe"
FROM_P1 = PAPER + ", start on p1"
PAIRS = [f"d{dim}-{reference}" for dim in (2, 16, 64)
         for reference in ("gaussian-0.02", "gaussian-0.05", "uniform-0.005", "uniform-0.01")]


def measured(name, file="results.jsonl"):
    """(method, loss, steps, pair, score) -> the lines of its training seeds, in their order."""
    cells = {}
    for line in (ROOT / "results" / name / file).read_text().splitlines():
        line = json.loads(line)
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
    devices = {"dlightsb": {"cuda": "H200, s", "cpu": "two Arm cores, s"}, "dlightsb-m": {"cuda": "H200, s"}}
    for solver, seconds_of in devices.items():
        head("pair", "updates", "rows", *seconds_of.values(), "exact shape", "joint KL")
        for (method, loss, steps, pair, score), lines in sorted(cells.items(), key=place_of):
            options = lines[0]["options"]
            if score != EXACT or lines[0]["solver"] != solver:
                continue
            seconds = {line["device"]: f"{line['train_seconds']:.2f}" for line in lines}
            row(pair, f"{int(options['updates']):,}" + (", before" if method == "old" else ""),
                f"{int(options['batch_size']):,}", *(seconds.get(device, "") for device in seconds_of),
                f"{lines[0]['value']:.4f}", digits_of(cells[method, loss, steps, pair, "joint_kl"][0]))
        print()


def place_of(cell):
    """Pairs by their size and name, each with its older lines first."""
    (method, _, _, pair, _), lines = cell
    return lines[0]["dim"], pair, method != "old", int(lines[0]["options"]["updates"])


def sphere():
    cells, paper = measured("sphere"), published()
    default = [("DLightSB", "", ""), ("DLightSB-M", "kl", "64"), ("DLightSB-M", "kl", "16"),
               ("DLightSB-M", "mse", "64")]

    def values(method, pair, score):
        return [line["value"] for line in cells.get((*method, pair, score), [])]

    def text(method, pair, score):
        return ", ".join(f"{value:.4f}" for value in values(method, pair, score))

    head("pair", *(", ".join(filter(None, (name, loss.upper(), steps))) for name, loss, steps in default))
    for pair in PAIRS:
        row(pair, *(text(method, pair, EXACT) for method in default))
    print()

    head("pair", "solver", "ours", "Oracle, ours", "published", "exact, ours")
    for name, loss, steps in default[:2]:
        for pair in PAIRS:
            ours = values((name + PAPER, loss, steps), pair, SCORE)
            if ours:
                row(pair, name, f"{statistics.mean(ours):.3f}",
                    f"{values(('Oracle', '', ''), pair, SCORE)[0]:.3f}",
                    f"{paper[name, loss.upper(), steps, pair + '-spread']:.3f}",
                    text((name + PAPER, loss, steps), pair, EXACT))
    print()

    head("pair", "score", "start on p0, seeds 0 to 2", "start on p1, seeds 0 to 2")
    scores = {SCORE: "conditional shape", EXACT: "exact conditional shape", "joint_kl": "joint KL"}
    for pair in ("d2-gaussian-0.02", "d16-gaussian-0.02"):
        for score, name in scores.items():
            row(pair, name, *(text(("DLightSB-M" + start, "kl", "64"), pair, score)
                              for start in (PAPER, FROM_P1)))


def reverse():
    cells = measured("reverse")
    methods = [("Oracle", "", ""), ("Independent", "", ""), ("Reference", "", ""),
               ("Feature-wise SB", "", ""), ("DLightSB", "", ""), ("CSBM", "kl", "64")]

    def text(method, pair, score, digits, error=False):
        for line in cells.get((*method, pair, score), []):
            value = round(line["value"], digits) + 0.0  # no -0
            return f"{value:.{digits}f}" + (f" ±{line['standard_error']:.{digits}f}" if error else "")
        return ""

    for family in ("", "-spread", "-twosided"):
        head("pair", *(name for name, _, _ in methods))
        for pair in PAIRS:
            row(pair + family, *(text(method, pair + family + "-reverse", SCORE, 3) for method in methods))
        print()

    head("pair", *("joint KL, " + name for name, _, _ in methods[2:5]),
         *("AUC, " + methods[i][0] for i in (0, 1, 3, 4, 5)))
    for family in ("", "-spread", "-twosided"):
        for pair in PAIRS:
            name = pair + family + "-reverse"
            row(pair + family, *(text(method, name, "joint_kl", 4, True) for method in methods[2:5]),
                *(text(methods[i], name, "c2st_auc", 3) for i in (0, 1, 3, 4, 5)))


def digits_of(line):
    """Value and error to the error's first two digits."""
    digits = max(0, 1 - math.floor(math.log10(line["standard_error"])))
    return f"{line['value']:.{digits}f} ±{line['standard_error']:.{digits}f}"


CP_AND_CHAIN = [("Feature-wise SB", "", ""), ("DLightSB", "", ""), ("DLightSB-M", "kl", "64"),
                ("DLightSB-chain", "", "")]


def joint_kls(cells, pair):
    return [digits_of(cells[(*method, pair, "joint_kl")][0]) for method in CP_AND_CHAIN]


def chain():
    cells = measured("chain")
    networks = [("CSBM", "kl", "64"), ("α-CSBM", "kl", "64")]
    head("pair", *("joint KL, " + name for name, _, _ in CP_AND_CHAIN),
         *("trajectory KL, " + name for name, _, _ in networks),
         *("exact shape, " + CP_AND_CHAIN[i][0] for i in (1, 3)))
    for pair in PAIRS:
        name = pair + "-chain"
        row(name, *joint_kls(cells, name),
            *(digits_of(cells[(*method, name, "forward_trajectory_kl")][0])
              if (*method, name, SCORE) in cells else "" for method in networks),
            *(f"{cells[(*CP_AND_CHAIN[i], name, EXACT)][0]['value']:.4f}" for i in (1, 3)))
    print()

    recipes = measured("chain", "recipe.jsonl")
    head("pair", "recipe", "training, s", "exact shape", "joint KL")
    for (method, _, _, pair, score), lines in recipes.items():
        if score == EXACT:
            row(pair, method, f"{lines[0]['train_seconds']:.1f}", f"{lines[0]['value']:.4f}",
                digits_of(recipes[method, "", "", pair, "joint_kl"][0]))
    print()

    starts = measured("chain", "starts.jsonl")
    methods = list(dict.fromkeys(method for method, *_ in starts))
    pairs = list(dict.fromkeys(pair for *_, pair, _ in starts))
    head("joint KL", *(", ".join(word.replace("=", " ") for word in settings_of(starts, method)) for method in methods))
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
        row(", ".join(f"`{word}`" for word in words) or "default",
            *(f"{cells[method, 'kl', '16', pair, score][0]['value']:.3f}" for score in scores))


def switch_rate():
    cells = measured("switch-rate")
    head("pair", *(name for name, _, _ in CP_AND_CHAIN))
    for base in ("d16-uniform-0.005-chain", "d64-gaussian-0.02-chain"):
        for rate in ("0", "0.01", "0.03", "0.1", "0.3"):
            row(f"{base}-{rate}", *joint_kls(cells, f"{base}-{rate}"))


if __name__ == "__main__":
    tables = {"dlightsb": dlightsb, "sphere": sphere, "reverse": reverse, "chain": chain, "csbm": csbm,
              "switch-rate": switch_rate}
    if sys.argv[1:] not in ([name] for name in tables):
        sys.exit(__doc__)
    tables[sys.argv[1]]()
