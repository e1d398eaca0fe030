#!/usr/bin/env python3
"""Where a number without a truth misleads: the truth with planted defects, judged on data alone.

  studies/planted_proxies.py measure PAIR... -o OUT.jsonl     adds a line a pair and defect
  studies/planted_proxies.py table OUT.jsonl                  each number beside the truth's own

Couplings with the right ends and too much or too little of x0 in them: bridges of the same rows
over a reference of another gamma, draws of x1 that ignore x0, training rows; and sharpened ones.
Needs the Python package and NumPy. What OUT has is not measured again.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import bridgemark as bm
from score_defects import WrongCoupling, read, sharpened, without_missing

ROWS = 3000  # to train on, and as many to judge
SCORES = {
    "shape_score": "shape",
    "trend_offdiagonal": "trend",
    "c2st_auc": "C2ST",
    "changed": "coordinates changed",
}
QUICK = {"components": 32, "updates": 500, "refit": "no", "source": "none"}


class OverGamma:
    """DLightSB on the training rows, over a reference of a gamma that is not the pair's."""

    def __init__(self, pair, times):
        x0, x1 = pair.training_set(ROWS, index=0)
        fitted = bm.DLightSB(**QUICK).fit(
            x0,
            x1,
            reference=str(pair.reference),
            gamma=times * pair.gamma,
            num_categories=pair.num_categories,
        )
        self.sample, self.log_conditional = fitted.sample, fitted.log_conditional
        self.log_marginals = fitted.log_marginals


class TrainingRows:
    """Rows of x1 of the training set, whatever x0 is."""

    def __init__(self, pair, _):
        self.rows = pair.training_set(ROWS, index=0)[1]

    def sample(self, x0, seed):
        return self.rows[np.random.default_rng(seed).integers(len(self.rows), size=len(x0))]


def truth_itself(pair, _):
    return bm.Oracle().fit(pair).coupling


DEFECTS = {  # name -> what makes it of a pair and a size, and its sizes
    "none": (truth_itself, (0.0,)),
    "gamma": (OverGamma, (0.25, 0.5, 1.0, 2.0, 4.0)),
    "ignores x0": (WrongCoupling, (0.1, 0.3, 1.0)),
    "too cold": (sharpened, (0.1, 0.3, 1.0)),
    "training rows": (TrainingRows, (1.0,)),
}
CASES = [(defect, size) for defect, (_, sizes) in DEFECTS.items() for size in sizes]


def numbers(pair, coupling):
    """What data alone say of a coupling."""
    x0, x1 = pair.training_set(ROWS, index=1)
    found = bm.compare_on(x0, x1, [coupling], names=["it"], num_categories=pair.num_categories)
    return {name: found.scores("it")[name]["value"] for name in SCORES}


def measure(pairs, out):
    done = {(line["pair"], line["defect"], line["size"]) for line in read(out)}
    with out.open("a") as file:
        for name in pairs:
            pair = bm.load(name)
            for defect, size in CASES:
                if (name, defect, size) in done:
                    continue
                coupling = without_missing(DEFECTS[defect][0](pair, size))
                truth = bm.evaluate(pair, coupling, conditional_samples=10, num_trajectories=1)
                line = {"pair": name, "defect": defect, "size": size, "rows": ROWS}
                kl = truth["joint_kl"]
                line |= {"joint_kl": "inf" if kl is not None and np.isinf(kl) else kl}
                line |= numbers(pair, coupling) | {"version": truth["version"]}
                file.write(json.dumps(line) + "\n")
                file.flush()
                print(f"{name}: {defect} {size}", flush=True)


def table(lines):
    pairs = list(dict.fromkeys(line["pair"] for line in lines))
    for name in pairs:
        print(f"\n| {name} | size | joint KL | " + " | ".join(SCORES.values()) + " |")
        print("|" + " --- |" * (len(SCORES) + 3))
        for line in lines:
            if line["pair"] != name:
                continue
            kl = line["joint_kl"]
            texts = ["" if kl is None else kl if isinstance(kl, str) else f"{kl:.3g}"]
            texts += ["" if line[s] is None else f"{line[s]:.3f}" for s in SCORES]
            size = "" if line["defect"] == "none" else f"{line['size']:g}"
            print(f"| {line['defect']} | {size} | " + " | ".join(texts) + " |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("pairs", nargs="+")
    measuring.add_argument("-o", "--out", type=Path, required=True)
    commands.add_parser("table").add_argument("out", type=Path)
    options = parser.parse_args()
    if options.command == "measure":
        measure(options.pairs, options.out)
    else:
        table(read(options.out))


if __name__ == "__main__":
    main()
