#!/usr/bin/env python3
"""Which score sees which defect? The truth with planted defects of growing size, scored.

  studies/score_defects.py measure PAIR... -o OUT.jsonl [--seeds 3]   adds a line a pair, defect and size
  studies/score_defects.py table OUT.jsonl      the smallest size that each score sees
  studies/score_defects.py sampler OUT.jsonl    what steps drawn coordinate by coordinate cost on the truth's own transitions

Needs the Python package and NumPy. What OUT has is not measured again.
"""

import argparse
import json
from pathlib import Path

import bridgemark as bm
import numpy as np

SIZES = (0.01, 0.03, 0.1, 0.3, 1.0)
STEPS = (64, 16, 4, 2, 1)  # of factorised steps: fewer are worse
SCORES = {  # shown, in this order
    "shape_score": "shape",
    "trend_offdiagonal": "trend",
    "c2st_auc": "C2ST",
    "sb_perplexity": "SB perplexity",
    "conditional_shape_score": "cond. shape",
    "conditional_trend_offdiagonal": "cond. trend",
    "exact_conditional_shape_score": "exact cond. shape",
    "joint_kl": "joint KL",
    "forward_trajectory_kl": "fwd. traj. KL",
}


def draw(log_marginals, random):
    """A category for each coordinate, independently of each other: int32 [B,D]."""
    sums = np.exp(log_marginals).cumsum(axis=-1)
    below = random.random(sums.shape[:-1])[..., None] * sums[..., -1:]
    return (sums <= below).sum(axis=-1).astype(np.int32)


def log_mix(size, left, right):
    """log((1 - size) exp(left) + size exp(right))."""
    if size == 1.0:
        return right
    return np.logaddexp(np.log1p(-size) + left, np.log(size) + right)


class OtherBridge:
    """The bridge of another potential over the same reference: all of it in closed form."""

    num_steps = 16

    def __init__(self, pair, log_beta, log_cores, log_moves):
        weights = {"log_beta": log_beta} if log_moves is None else {"log_start": log_beta, "log_moves": log_moves}
        self.other = bm.build_pair(
            reference=pair.reference, gamma=pair.gamma, total_steps=pair.total_steps, log_cores=log_cores, **weights
        )
        self.log_marginals = self.other.log_marginals
        self.log_conditional = self.other.log_conditional
        self.log_transition_marginals = self.other.log_transition_marginals

    def sample(self, x0, seed):
        return self.other.sample_conditional(x0, seed)

    def sample_transition(self, x, num_steps, n, seed):
        return draw(self.other.log_transition_marginals(x, num_steps, n), np.random.default_rng(seed))


def mode_dropped(pair, size):
    """The component that most rows come from loses a share of its weight."""
    left = np.log1p(-min(size, 1 - 1e-12))
    heaviest = np.argmax(pair.log_beta)
    log_beta = pair.log_beta.copy()
    log_beta[heaviest] += left
    moves = None if pair.log_moves is None else pair.log_moves.copy()
    if moves is not None:
        moves[:, :, heaviest] += left
    return OtherBridge(pair, log_beta, pair.log_cores, moves)


def sharpened(pair, size):
    """Cores to the power 1 + size: too cold."""
    return OtherBridge(pair, pair.log_beta, pair.log_cores * (1 + size), pair.log_moves)


class Mixture:
    """The truth, and with probability `size` an answer of something else."""

    def __init__(self, pair, size):
        self.pair, self.size = pair, size

    def sample(self, x0, seed):
        random = np.random.default_rng(seed)
        x1 = self.pair.sample_conditional(x0, random)
        wrong = random.random(len(x0)) < self.size
        x1[wrong] = self.other(x0, x1, random)[wrong]
        return x1

    def log_marginals(self, x0):
        return log_mix(self.size, self.pair.log_marginals(x0), self.other_marginals(x0))

    def log_conditional(self, x0, x1):
        return log_mix(self.size, self.pair.log_conditional(x0, x1), self.other_conditional(x1))


class WrongCoupling(Mixture):
    """x1 of p1, whatever x0: both ends right, nothing between them."""

    def other(self, x0, x1, random):
        return self.pair.sample_x1(len(x0), random)

    def other_marginals(self, x0):
        states = self.pair.sample_x0(4000, 11)
        mean = np.exp(self.pair.log_marginals(states)).mean(axis=0)
        return np.broadcast_to(np.log(mean), (len(x0), *mean.shape))

    def other_conditional(self, x1):
        return self.pair.log_p1(x1)


class IgnoresX0(Mixture):
    """Answers to one x0, that of the first test row."""

    def __init__(self, pair, size):
        super().__init__(pair, size)
        self.one = pair.test_set()[0][:1]

    def other(self, x0, x1, random):
        return self.pair.sample_conditional(np.repeat(self.one, len(x0), axis=0), random)

    def other_marginals(self, x0):
        return np.repeat(self.pair.log_marginals(self.one), len(x0), axis=0)

    def other_conditional(self, x1):
        return self.pair.log_conditional(np.repeat(self.one, len(x1), axis=0), x1)


class FrozenCoordinate(Mixture):
    """The first coordinate stays where it was."""

    log_conditional = None  # would need the law of the other coordinates

    def other(self, x0, x1, random):
        return np.concatenate([x0[:, :1], x1[:, 1:]], axis=1)

    def other_marginals(self, x0):
        marginals = self.pair.log_marginals(x0)
        marginals[:, 0] = -1e9
        marginals[np.arange(len(x0)), 0, x0[:, 0]] = 0.0
        return marginals


class FactorisedSteps:
    """The truth's transitions, drawn coordinate by coordinate: the sampler is wrong, not the model."""

    def __init__(self, pair, num_steps):
        self.pair, self.num_steps = pair, num_steps
        self.log_transition_marginals = pair.log_transition_marginals

    def sample(self, x0, seed):
        random, x = np.random.default_rng(seed), x0
        for n in range(self.num_steps):
            parts = np.array_split(x, max(1, len(x) // 20000))
            x = np.concatenate(
                [draw(self.pair.log_transition_marginals(p, self.num_steps, n), random) for p in parts]
            )
        return x


DEFECTS = {
    "one mode dropped": (mode_dropped, SIZES),
    "too cold": (sharpened, SIZES),
    "right ends, wrong coupling": (WrongCoupling, SIZES),
    "x0 ignored": (IgnoresX0, SIZES),
    "one coordinate frozen": (FrozenCoordinate, SIZES),
    "factorised steps": (FactorisedSteps, STEPS),
}


def without_missing(coupling):
    """Attributes that are None are abilities that it does not have."""
    if getattr(coupling, "log_conditional", 0) is None:
        return type("Coupling", (), {"sample": coupling.sample, "log_marginals": coupling.log_marginals})()
    return coupling


def measure(pairs, out, seeds):
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {(line["pair"], line["defect"], line["size"]) for line in lines}
    with out.open("a") as file:
        for name in pairs:
            pair = bm.load(name)
            cases = [("none", 0.0, lambda: bm.Oracle().fit(pair))]
            for defect, (make, sizes) in DEFECTS.items():
                cases += [(defect, size, lambda m=make, s=size: without_missing(m(pair, s))) for size in sizes]
            for defect, size, make in cases:
                if (name, defect, size) in done:
                    continue
                result = bm.evaluate(pair, make(), num_seeds=seeds, c2st=True)
                found = result.to_dict()
                line = {"pair": name, "defect": defect, "size": size, "seeds": seeds}
                line |= {score: found.get(score) for score in SCORES}
                line["standard_errors"] = {s: found["standard_errors"].get(s) for s in SCORES}
                file.write(json.dumps(line) + "\n")
                file.flush()
                print(f"{name}: {defect} {size}", flush=True)


def smallest_seen(oracle, lines, score):
    """The first size from which on all lie outside three standard errors of the Oracle's score."""
    seen = None
    for line in lines:
        value, error = line[score], line["standard_errors"].get(score)
        if value is None:
            return "·"
        noise = np.hypot(error or 0.0, oracle["standard_errors"].get(score) or 0.0)
        differs = abs(value - oracle[score]) > max(3 * noise, 1e-9)
        seen = (line["size"] if seen is None else seen) if differs else None
    return "never" if seen is None else f"{seen:g}"


def table(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for name in dict.fromkeys(line["pair"] for line in lines):
        of_pair = [line for line in lines if line["pair"] == name]
        oracle = next(line for line in of_pair if line["defect"] == "none")
        print(f"\n| {name} | " + " | ".join(SCORES.values()) + " |\n|" + " --- |" * (len(SCORES) + 1))
        for defect in DEFECTS:
            sizes = [line for line in of_pair if line["defect"] == defect]
            if sizes:
                print(f"| {defect} | " + " | ".join(smallest_seen(oracle, sizes, s) for s in SCORES) + " |")


def sampler(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    columns = [str(steps) for steps in reversed(STEPS)] + ["Oracle"]
    for score in ("conditional_shape_score", "conditional_trend_offdiagonal"):
        print(f"\n| {SCORES[score]}, by steps | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 1))
        for name in dict.fromkeys(line["pair"] for line in lines):
            found = {line["size"]: line[score] for line in lines
                     if line["pair"] == name and line["defect"] in ("factorised steps", "none")}
            values = [found.get(steps) for steps in (*reversed(STEPS), 0.0)]
            print(f"| {name} | " + " | ".join("" if v is None else f"{v:.4f}" for v in values) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("pairs", nargs="+")
    measuring.add_argument("-o", "--out", type=Path, required=True)
    measuring.add_argument("--seeds", type=int, default=3)
    for name in ("table", "sampler"):
        commands.add_parser(name).add_argument("out", type=Path)
    options = parser.parse_args()
    if options.command == "measure":
        measure(options.pairs, options.out, options.seeds)
    else:
        {"table": table, "sampler": sampler}[options.command](options.out)


if __name__ == "__main__":
    main()
