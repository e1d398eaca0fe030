#!/usr/bin/env python3
"""Measures what two faults of the published code do, with our exact truth. Standard library only.

    studies/corrections.py skipped-step [PAIR [NUM_STEPS]] [--json]
        a solver that learned the identity as last step
    studies/corrections.py epsilon [PAIR [NUM_STEPS [EPSILON]]]
        targets from log(one_hot + EPSILON), by default that of float32

docs/corrections.md says what they are. --json prints one line, as results/csbm/skipped-step.jsonl
has them. The program is build/bridgemark, or $BRIDGEMARK.
"""

import array
import ast
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get(
    "BRIDGEMARK", str(pathlib.Path(__file__).parent.parent / "build/bridgemark")
)
TOTAL_STEPS = 128
CATEGORIES = 50
SCORES = ("conditional_shape_score", "conditional_trend_score", "shape_score", "trend_score")


def bridgemark(*arguments):
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True
    )
    return done.stdout


def load(path):
    """Shape and entries, row by row, of an int32 .npy file."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert header["descr"] == "<i4" and not header["fortran_order"]
    values = array.array("i")
    values.frombytes(data[10 + length :])
    return header["shape"], values


def save(path, shape, values):
    header = repr({"descr": "<i4", "fortran_order": False, "shape": shape})
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        values.tofile(file)


def before_last(folder, pair, given, num_steps, seed):
    """The truth's trajectories from the given rows, without their last step."""
    out = folder / "trajectory.npy"
    bridgemark(
        "sample",
        pair,
        "--what",
        "trajectory",
        "--given",
        given,
        "--num-steps",
        num_steps,
        "--seed",
        seed,
        "-o",
        out,
    )
    (rows, points, dim), values = load(out)
    kept = array.array("i")
    for row in range(rows):
        start = (row * points + points - 2) * dim
        kept.extend(values[start : start + dim])
    return rows, dim, kept


def skipped_step(pair, num_steps, as_json=False):
    """A perfect solver but for its last step, which it leaves out, scored like any other."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        bridgemark("kit", pair, "-o", folder / "kit")
        answers = folder / "answers"
        answers.mkdir()
        rows, dim, kept = before_last(folder, pair, folder / "kit/test_x0.npy", num_steps, 1)
        save(answers / "pred_x1.npy", (rows, dim), kept)
        (inputs, _), values = load(folder / "kit/conditional_x0.npy")
        repeated = array.array("i")
        for i in range(inputs):
            repeated.extend(values[i * dim : (i + 1) * dim] * 1000)
        save(folder / "given.npy", (inputs * 1000, dim), repeated)
        _, _, kept = before_last(folder, pair, folder / "given.npy", num_steps, 2)
        save(answers / "pred_conditional_x1.npy", (inputs, 1000, dim), kept)
        scores = json.loads(bridgemark("evaluate", pair, "--predictions", answers, "--json"))
        bridgemark("train", "oracle", "--pair", pair, "-o", folder / "oracle")
        ceiling = json.loads(bridgemark("evaluate", pair, "--run", folder / "oracle", "--json"))
    if as_json:
        print(
            json.dumps(
                {
                    "pair": pair,
                    "num_steps": num_steps,
                    "without": {score: round(scores[score], 5) for score in SCORES},
                    "with": {score: round(ceiling[score], 5) for score in SCORES},
                }
            )
        )
        return
    for score in SCORES:
        print(
            f"{pair}, {num_steps} steps, {score}: {scores[score]:.3f} without the last step, "
            f"{ceiling[score]:.3f} with it"
        )


def elementary_matrix(reference, S=50):
    """One elementary step of a preset's reference process, as the paper states it."""
    kind, gamma = reference.split("-")[0], float(reference.split("-")[1])
    if kind == "uniform":
        return [[1 - gamma if x == y else gamma / (S - 1) for y in range(S)] for x in range(S)]
    weight = [math.exp(-4 * delta**2 / (gamma * (S - 1)) ** 2) for delta in range(S)]
    total = 2 * sum(weight) - 1
    matrix = [[weight[abs(x - y)] / total if x != y else 0.0 for y in range(S)] for x in range(S)]
    for x in range(S):
        matrix[x][x] = 1 - sum(matrix[x])
    return matrix


def product(a, b):
    columns = list(zip(*b))
    return [[sum(p * q for p, q in zip(row, column)) for column in columns] for row in a]


def total_variation(left, right):
    return 0.5 * sum(abs(a / sum(left) - b / sum(right)) for a, b in zip(left, right))


def epsilon(pair, num_steps, added=2.0**-23, rows=2000):
    """The share of one-step targets q_ref(x_{n+1} | x_n, x_1) that the epsilon moves."""
    one = elementary_matrix(pair.split("-", 1)[1], CATEGORIES)
    for _ in range((TOTAL_STEPS // num_steps).bit_length() - 1):
        one = product(one, one)
    powers = [[[float(x == y) for y in range(CATEGORIES)] for x in range(CATEGORIES)]]
    for _ in range(num_steps):
        powers.append(product(powers[-1], one))
    with tempfile.TemporaryDirectory() as folder:
        ends = []
        for what in ("x0", "x1"):
            out = pathlib.Path(folder) / f"{what}.npy"
            bridgemark(
                "sample", pair, "--what", what, "-n", rows, "--seed", 1 + len(ends), "-o", out
            )
            ends.append(load(out)[1])
    draw = random.Random(1)
    moved = 0
    for x0, x1 in zip(*ends):  # coordinate by coordinate: the reference treats each alike
        n = draw.randrange(num_steps)
        inside = [powers[n][x0][x] * powers[num_steps - n][x][x1] for x in range(CATEGORIES)]
        x = draw.choices(range(CATEGORIES), weights=inside)[0]
        rest = powers[num_steps - n - 1]
        exact = [one[x][y] * rest[y][x1] for y in range(CATEGORIES)]
        published = [one[x][y] * (rest[y][x1] + added) for y in range(CATEGORIES)]
        moved += total_variation(exact, published) > 0.1
    print(
        f"{pair}, {num_steps} steps: {100 * moved / len(ends[0]):.1f} % of the targets with "
        f"{added:.2g} are off by more than 0.1 in total variation"
    )


def main():
    faults = {
        "skipped-step": (skipped_step, "d2-gaussian-0.05-spread"),
        "epsilon": (epsilon, "d2-gaussian-0.02-spread"),
    }
    words = [word for word in sys.argv[1:] if word != "--json"]
    if not words or words[0] not in faults:
        sys.exit(__doc__)
    measure, pair = faults[words[0]]
    options = {"as_json": True} if "--json" in sys.argv and measure is skipped_step else {}
    if len(words) > 3 and measure is epsilon:
        options["added"] = float(words[3])
    num_steps = int(words[2]) if len(words) > 2 else 16
    measure(words[1] if len(words) > 1 else pair, num_steps, **options)


if __name__ == "__main__":
    main()
