#!/usr/bin/env python3
"""Which score sees which defect? The truth with planted defects of growing size, scored.

  studies/score_defects.py measure PAIR... -o OUT.jsonl [--seeds 3] [--only DEFECT]... [--sizes 0.1
  ...]
                                              adds a line a pair, defect and size
  studies/score_defects.py table OUT.jsonl    the smallest size that each score sees
  studies/score_defects.py blind OUT.jsonl    on how many pairs each score sees a defect at all
  studies/score_defects.py steps OUT.jsonl    the KLs of defects in steps (step_joints.py)

Needs the Python package and NumPy. What OUT has is not measured again.
"""

import argparse
import functools
import json
from pathlib import Path

import numpy as np

import bridgemark as bm
from truth_steps import FactorisedStep, FactorisedSteps, WholeSteps, draw_marginals

SIZES = (0.01, 0.03, 0.1, 0.3, 1.0)
STEPS = (64, 32, 16, 8, 4, 2, 1)  # fewer are worse
NUM_STEPS = 16  # of the chains that have a defect in their steps
ERRORS = 3  # standard errors that a score must lie from the Oracle's
FACTORISED = "factorised steps"
CONTROL = "whole steps"  # the truth itself, step by step: no score should see it
JOINTS = Path(__file__).parent.parent / "results" / "defects" / "joints.jsonl"
SCORES = {  # shown, in this order
    "shape_score": "shape",
    "trend_offdiagonal": "trend",
    "c2st_auc": "C2ST",
    "sb_perplexity": "SB perplexity",
    "mean_marginal_entropy": "entropy",
    "conditional_shape_score": "cond. shape",
    "conditional_trend_offdiagonal": "cond. trend",
    "sampled_conditional_shape_score": "sampled cond. shape",
    "exact_conditional_shape_score": "exact cond. shape",
    "joint_kl": "joint KL",
    "forward_trajectory_kl": "fwd. traj. KL",
    "reverse_trajectory_kl": "rev. traj. KL",
}


@functools.cache
def mean_log_marginals(name):
    """The marginals of p1: those of the conditionals, averaged over x0."""
    pair = bm.load(name)
    return np.log(np.exp(pair.log_marginals(pair.sample_x0(4000, 11))).mean(axis=0))


@functools.cache
def test_log_p1(name):
    """log p1 of the test rows; an estimate where D > 2, but for two-sided pairs."""
    pair = bm.load(name)
    return pair.log_p1(pair.test_set()[1])


def log_mix(size, left, right):
    """log((1 - size) exp(left) + size exp(right))."""
    if size == 1.0:
        return right
    return np.logaddexp(np.log1p(-size) + left, np.log(size) + right)


class OtherBridge:
    """The bridge of another potential over the same reference: all of it in closed form."""

    num_steps = 16

    def __init__(self, pair, log_beta, log_cores, log_moves):
        weights = {"log_beta": log_beta}
        if log_moves is not None:
            weights = {"log_start": log_beta, "log_moves": log_moves}
        self.other = bm.build_pair(
            reference=pair.reference,
            gamma=pair.gamma,
            total_steps=pair.total_steps,
            log_cores=log_cores,
            **weights,
        )
        self.log_marginals = self.other.log_marginals
        self.log_conditional = self.other.log_conditional
        self.log_transition_marginals = self.other.log_transition_marginals

    def sample(self, x0, seed):
        return self.other.sample_conditional(x0, seed)

    def sample_transition(self, x, num_steps, n, seed):
        marginals = self.other.log_transition_marginals(x, num_steps, n)
        return draw_marginals(marginals, np.random.default_rng(seed))


@functools.cache
def most_common_component(name):
    """The component that most coordinates of answers to the test inputs are drawn from."""
    pair = bm.load(name)
    weights = FactorisedStep(pair, 1, 0).component_weights(pair.test_set()[0])
    return int((weights / weights.sum(axis=0)).mean(axis=(1, 2)).argmax())


def mode_dropped(pair, size):
    """The component that most answers come from loses a share of its weight."""
    left = np.log1p(-size) if size < 1 else -5000.0  # no x0 brings it back
    dropped = most_common_component(pair.name)
    log_beta = pair.log_beta.copy()
    log_beta[dropped] += left
    moves = None if pair.log_moves is None else pair.log_moves.copy()
    if moves is not None:
        moves[:, :, dropped] += left
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
        return log_mix(self.size, self.pair.log_conditional(x0, x1), self.other_conditional(x0, x1))


class WrongCoupling(Mixture):
    """x1 of p1, whatever x0: both ends right, nothing between them."""

    def __init__(self, pair, size):
        super().__init__(pair, size)
        if pair.family == "chain" and pair.dim > 2:
            self.log_conditional = None  # log p1 of the test rows takes minutes to an hour there

    def other(self, x0, x1, random):
        return self.pair.sample_x1(len(x0), random)

    def other_marginals(self, x0):
        marginals = mean_log_marginals(self.pair.name)
        return np.broadcast_to(marginals, (len(x0), *marginals.shape))

    def other_conditional(self, x0, x1):
        rows = test_log_p1(self.pair.name)
        return rows if len(x1) == len(rows) else self.pair.log_p1(x1)


class IgnoresX0(Mixture):
    """Answers to one x0, that of the first test row."""

    def __init__(self, pair, size):
        super().__init__(pair, size)
        self.one = pair.test_set()[0][:1]

    def other(self, x0, x1, random):
        return self.pair.sample_conditional(np.repeat(self.one, len(x0), axis=0), random)

    def other_marginals(self, x0):
        return np.repeat(self.pair.log_marginals(self.one), len(x0), axis=0)

    def other_conditional(self, x0, x1):
        return self.pair.log_conditional(np.repeat(self.one, len(x1), axis=0), x1)


class FrozenCoordinate(Mixture):
    """The first coordinate stays where it was."""

    def other(self, x0, x1, random):
        return np.concatenate([x0[:, :1], x1[:, 1:]], axis=1)

    def other_marginals(self, x0):
        marginals = self.pair.log_marginals(x0)
        marginals[:, 0] = -1e9
        marginals[np.arange(len(x0)), 0, x0[:, 0]] = 0.0
        return marginals

    def other_conditional(self, x0, x1):
        all_firsts = np.full(len(x1), -np.inf)  # the law of the other coordinates
        for first in range(self.pair.num_categories):
            x1_first = x1.copy()
            x1_first[:, 0] = first
            all_firsts = np.logaddexp(all_firsts, self.pair.log_conditional(x0, x1_first))
        return np.where(x1[:, 0] == x0[:, 0], all_firsts, -np.inf)


def mode_dropped_in_steps(pair, size):
    """The same, drawn in factorised steps."""
    return FactorisedSteps(mode_dropped(pair, size).other, NUM_STEPS)


def sharpened_in_steps(pair, size):
    return FactorisedSteps(sharpened(pair, size).other, NUM_STEPS)


def noise_on_steps(pair, size):
    """A coordinate is drawn uniformly in `size` of its steps on average."""
    return FactorisedSteps(pair, NUM_STEPS, noise=size / NUM_STEPS)


# Told from the truth in as many factorised steps, all others from the Oracle.
STEP_DEFECTS = {
    "mode dropped in steps": (mode_dropped_in_steps, SIZES),
    "too cold in steps": (sharpened_in_steps, SIZES),
    "noise on steps": (noise_on_steps, SIZES),
}
DEFECTS = {
    "one mode dropped": (mode_dropped, SIZES),
    "too cold": (sharpened, SIZES),
    "right ends, wrong coupling": (WrongCoupling, SIZES),
    "x0 ignored": (IgnoresX0, SIZES),
    "one coordinate frozen": (FrozenCoordinate, SIZES),
    FACTORISED: (FactorisedSteps, STEPS),
    **STEP_DEFECTS,
    CONTROL: (WholeSteps, STEPS[::3]),
}


def without_missing(coupling):
    """Attributes that are None are abilities that it does not have."""
    if getattr(coupling, "log_conditional", 0) is None:
        able = {"sample": coupling.sample, "log_marginals": coupling.log_marginals}
        return type("Coupling", (), able)()
    return coupling


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def key_of(line):
    return line["pair"], line["defect"], line["size"]


def with_joints(lines):
    """Lines of steps with their joint KL by particles, which step_joints.py measures."""
    joints = {key_of(joint): joint["joint_kl"] for joint in read(JOINTS)}
    for line in lines:
        if key_of(line) in joints:
            line["joint_kl"], line["standard_errors"]["joint_kl"] = joints[key_of(line)]
    return lines


def cases(pair, only, chosen):
    """(defect, size, what makes the coupling), the Oracle first."""
    found = [("none", 0.0, lambda: bm.Oracle().fit(pair))]
    for defect, (make, sizes) in DEFECTS.items():
        if not only or defect in only:
            for s in sizes:
                if not chosen or s in chosen:
                    found.append((defect, s, lambda m=make, s=s: without_missing(m(pair, s))))
    return found


def measure(pairs, out, seeds, only, chosen):
    done = {key_of(line) for line in read(out)}
    with out.open("a") as file:
        for name in pairs:
            pair = bm.load(name)
            for defect, size, make in cases(pair, only, chosen):
                if (name, defect, size) in done:
                    continue
                # Particles are step_joints.py's: it needs none of the draws.
                found = bm.evaluate(pair, make(), num_seeds=seeds, c2st=True, particles=0).to_dict()
                line = {"pair": name, "defect": defect, "size": size, "seeds": seeds}
                line |= {s: "inf" if s in found["infinite"] else found.get(s) for s in SCORES}
                line["standard_errors"] = {s: found["standard_errors"].get(s) for s in SCORES}
                line |= {"seconds": found["wall_seconds"], "version": found["version"]}
                file.write(json.dumps(line) + "\n")
                file.flush()
                print(f"{name}: {defect} {size}", flush=True)


def dim_of(name):
    return int(name[1:].split("-")[0])


def usual_errors(lines):
    """(D, score) -> its standard error as a share of the score, pooled over the pairs of D: of
    their Oracles, slightly changed bridges and many steps. One of two or three repetitions alone is
    too small by chance too often. KLs have their own."""
    like_oracle = ("none", "one mode dropped", "too cold", FACTORISED, CONTROL)
    shares = {}
    for line in lines:
        if line["defect"] in like_oracle and (line["size"] < 0.1 or line["size"] >= 16):
            for score, error in line["standard_errors"].items():
                share = 0.0 if error is None or score.endswith("_kl") else error / line[score]
                shares.setdefault((dim_of(line["pair"]), score), []).append(share)
    return {key: np.sqrt(np.mean(np.square(of_key))) for key, of_key in shares.items()}


def smallest_seen(right, lines, score, usual):
    """The first size from which on the score differs from what is right; None where it has none."""
    seen = "never"
    for line in lines:
        if line[score] is None or right[score] is None:
            return None
        value = float(line[score])
        noise = np.hypot(*(max(of["standard_errors"][score] or 0, usual) for of in (line, right)))
        if abs(value - right[score]) <= max(ERRORS * noise, 1e-9):
            seen = "never"
        elif seen == "never":
            seen = line["size"]
    return seen


def steps_seen(oracle, lines, score, usual):
    """The same for numbers of steps. One step has exact marginals, so it may pass where two do
    not: a star says so."""
    seen = smallest_seen(oracle, lines, score, usual)
    if seen == "never" and lines[-1]["size"] == 1:
        fewer = smallest_seen(oracle, lines[:-1], score, usual)
        return "never" if fewer == "never" else f"{fewer:g}*"
    return seen


def all_seen(lines):
    """pair -> defect -> score -> the smallest size seen, in the order of D, family and DEFECTS."""
    found = {}
    for line in lines:
        found.setdefault(line["pair"], []).append(line)
    table, shares = {}, usual_errors(lines)
    for name in sorted(found, key=lambda name: (dim_of(name), name)):
        of_pair = {}
        for line in found[name]:
            of_pair.setdefault(line["defect"], {})[line["size"]] = line
        oracle, table[name] = of_pair["none"][0.0], {}
        usual = {s: shares[dim_of(name), s] * (oracle[s] or 0.0) for s in SCORES}
        for defect, (_, sizes) in DEFECTS.items():
            see = steps_seen if sizes is STEPS else smallest_seen
            right = of_pair[FACTORISED][NUM_STEPS] if defect in STEP_DEFECTS else oracle
            if ordered := [of_pair[defect][x] for x in sizes if x in of_pair.get(defect, {})]:
                table[name][defect] = {s: see(right, ordered, s, usual[s]) for s in SCORES}
    return table


def shown(seen):
    return "·" if seen is None else seen if isinstance(seen, str) else f"{seen:g}"


def table(lines):
    for name, rows in all_seen(lines).items():
        print(f"\n| {name} | " + " | ".join(SCORES.values()) + " |")
        print("|" + " --- |" * (len(SCORES) + 1))
        for defect, seen in rows.items():
            print(f"| {defect} | " + " | ".join(shown(seen[s]) for s in SCORES) + " |")


def blind(lines):
    """Over all pairs on which any score sees the defect."""
    found = all_seen(lines)
    defects = [defect for defect in DEFECTS if defect != CONTROL]
    print("\n| score | " + " | ".join(defects) + " |")
    print("|" + " --- |" * (len(defects) + 1))
    for score, title in SCORES.items():
        cells = []
        for defect, (_, sizes) in DEFECTS.items():
            if defect == CONTROL:
                continue
            rows = [rows[defect] for rows in found.values() if defect in rows]
            rows = [seen for seen in rows if set(seen.values()) - {None, "never"}]
            values = [seen[score] for seen in rows if seen[score] is not None]
            some = [value for value in values if value != "never"]
            if not values:
                cells.append("·")
            elif not some:
                cells.append("**blind**")
            else:
                texts = {shown(value) for value in some}
                ends = [t for x in sizes for t in (f"{x:g}", f"{x:g}*") if t in texts]
                text = ends[0] if len(ends) == 1 else f"{ends[0]} to {ends[-1]}"
                missed = len(values) - len(some)
                cells.append(text + (f"; {missed} of {len(values)} never" if missed else ""))
        print(f"| {title} | " + " | ".join(cells) + " |")


def steps(_):
    """KLs of defects in steps: at the ends of a path, of whole paths, by coordinates."""
    joints = {key_of(joint): joint for joint in read(JOINTS)}
    pairs = sorted({pair for pair, defect, _ in joints if defect in STEP_DEFECTS}, key=dim_of)
    names = ("joint KL", "path", "trajectory")
    kls = [f"{name}, D = {dim_of(pair)}" for pair in pairs for name in names]
    print("\n| defect | size | " + " | ".join(kls) + " |")
    print("|" + " --- |" * (len(kls) + 2))
    for defect, sizes in ((FACTORISED, (NUM_STEPS,)), *((d, SIZES) for d in STEP_DEFECTS)):
        for size in sizes:
            cells = []
            for pair in pairs:
                joint = joints[pair, defect, size]
                cells.append("{:.4g} ± {:.1g}".format(*joint["joint_kl"]))
                cells += [f"{joint[kl][0]:.3g}" for kl in ("path_kl", "trajectory_kl")]
            print(f"| {defect} | {size:g} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("pairs", nargs="+")
    measuring.add_argument("-o", "--out", type=Path, required=True)
    measuring.add_argument("--seeds", type=int, default=3)
    measuring.add_argument("--only", action="append", choices=list(DEFECTS), metavar="DEFECT")
    measuring.add_argument("--sizes", nargs="+", type=float)
    for name in ("table", "blind", "steps"):
        commands.add_parser(name).add_argument("out", type=Path)
    options = parser.parse_args()
    if options.command == "measure":
        measure(options.pairs, options.out, options.seeds, options.only, options.sizes)
    else:
        show = {"table": table, "blind": blind, "steps": steps}[options.command]
        show(with_joints(read(options.out)))


if __name__ == "__main__":
    main()
