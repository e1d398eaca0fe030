#!/usr/bin/env python3
"""The picture of the README: where the truth, a solver and a baseline take three points.

  scripts/readme_picture.py docs/pictures/three-answers.png

Needs the Python package (`make python`) and matplotlib; a minute on two cores.
"""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import bridgemark as bm

COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by everyone
STARTS = np.array([[19, 22], [25, 31], [31, 24]], dtype=np.int32)
DRAWS, PATHS, STEPS = 250, 6, 16


def jitter(states, random):
    """Categories are whole numbers: points of a cell do not hide each other."""
    return states + random.uniform(-0.5, 0.5, states.shape)


def show(axis, title, sample, trajectory):
    random = np.random.default_rng(3)
    ends = sample(np.repeat(STARTS, DRAWS, axis=0), 5)
    colours = np.repeat(COLOURS, DRAWS)
    order = random.permutation(len(ends))  # no colour lies on top of the others
    axis.scatter(*jitter(ends, random)[order].T, s=7, c=colours[order], alpha=0.6, linewidth=0)
    for colour, start in zip(COLOURS, STARTS):
        if trajectory is not None:
            for path in trajectory(np.repeat(start[None], PATHS, axis=0), 7):
                axis.plot(*jitter(path, random).T, color=colour, linewidth=1.0, alpha=0.8)
        axis.scatter(*start, s=70, color=colour, edgecolor="white", linewidth=1.5, zorder=3)
    axis.set_title(title, fontsize=11)


def main(out):
    pair = bm.load("d2-gaussian-0.02-spread")
    solver = bm.DLightSB(components=300).fit(pair, updates=500)
    independent = bm.Independent().fit(pair)
    random = np.random.default_rng(1)
    p0, p1 = pair.sample_x0(1500, seed=1), pair.sample_x1(1500, seed=2)
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.9), sharex=True, sharey=True)
    for axis in axes:
        axis.scatter(*jitter(p0, random).T, s=3, color="#bbbbbb", alpha=0.5, linewidth=0)
        axis.scatter(*jitter(p1, random).T, s=3, color="#777777", alpha=0.5, linewidth=0)
        axis.set_aspect("equal")
        axis.set(xticks=[], yticks=[], xlim=(8, 42), ylim=(5, 44))
        axis.spines[:].set_visible(False)
        axis.text(23, 18.5, "p0", color="#888888")
        axis.text(18, 38, "p1", color="#555555")
    kl = bm.evaluate(pair, solver)["joint_kl"]
    far = bm.evaluate(pair, independent)["conditional_shape_score"]

    def paths(source):
        return lambda x0, seed: source.sample_trajectory(x0, num_steps=STEPS, seed=seed)

    show(axes[0], "the truth: q(x1 | x0), in closed form", pair.sample_conditional, paths(pair))
    show(axes[1], f"DLightSB: joint KL {kl:.4f}", solver.sample, paths(solver))
    show(axes[2], f"Independent: conditional shape {far:.2f}", independent.sample, None)
    figure.tight_layout()
    figure.savefig(out, dpi=130, metadata={"Software": None})
    picture = Image.open(out).convert("RGB")  # a palette takes a third of the bytes
    picture.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        out, optimize=True
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
