#!/usr/bin/env python3
"""sample_figures.py draw FOLDER | figures: the published figures of samples in two dimensions, with
ours.

`draw` lets every run of seed 0 on the d2 pairs, in the folder that
`bridgemark run experiments/paper.toml -o FOLDER` has made, answer the same 20,000 inputs, and keeps
how often each state came up (results/paper/samples.npz). `figures` draws a panel for each of them,
results/paper/samples-PAIR.svg (matplotlib).
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from figures import pyplot, save
from published import ROOT

KEPT = ROOT / "results/paper/samples.npz"
PAIRS = [
    f"d2-{reference}-spread"
    for reference in ("gaussian-0.02", "gaussian-0.05", "uniform-0.005", "uniform-0.01")
]
VARIANTS = [(loss, steps) for loss in ("kl", "mse") for steps in ("16", "64")]
# What a panel is called -> the part of a run's id that names the solver.
PANELS = {"DLightSB": "dlightsb"}
for name, solver in (("CSBM", "csbm"), ("α-CSBM", "alpha-csbm"), ("DLightSB-M", "dlightsb-m")):
    PANELS |= {
        f"{name}, {loss.upper()}, {steps}": f"{solver}.{loss}.{steps}" for loss, steps in VARIANTS
    }
ROWS = 20000
CATEGORIES = 50


def counted(states):
    """How often each state of the square came up, [x, y]."""
    counts = np.zeros((CATEGORIES, CATEGORIES), np.uint16)
    np.add.at(counts, (states[:, 0], states[:, 1]), 1)
    return counts


def draw(folder):
    def sample(*arguments):
        subprocess.run(
            [ROOT / "build/bridgemark", "sample", *arguments], check=True, stdout=subprocess.DEVNULL
        )

    kept = {}
    with tempfile.TemporaryDirectory() as scratch:
        given, drawn = pathlib.Path(scratch, "x0.npy"), pathlib.Path(scratch, "x1.npy")
        for pair in PAIRS:
            sample(pair, "--what", "joint", "-n", str(ROWS), "-o", drawn)
            joint = np.load(drawn)
            np.save(given, joint[:, 0])
            kept[f"{pair}/Input"], kept[f"{pair}/Target"] = (
                counted(joint[:, 0]),
                counted(joint[:, 1]),
            )
            for panel, solver in PANELS.items():
                sample(
                    "--run",
                    folder / "runs" / f"{pair}.{solver}.seed0",
                    "--given",
                    given,
                    "-o",
                    drawn,
                )
                kept[f"{pair}/{panel}"] = counted(np.load(drawn))
    np.savez_compressed(KEPT, **kept)


def figures():
    plt = pyplot("samples", size=8)
    kept = np.load(KEPT)
    # A line for each solver with four variants, under what they start from and go to.
    names = ["Input", "Target", "DLightSB", None, *(name for name in PANELS if name != "DLightSB")]
    for pair in PAIRS:
        figure, panels = plt.subplots(4, 4, figsize=(7.2, 7.6), layout="constrained")
        highest = kept[f"{pair}/Target"].max()
        for panel, name in zip(panels.flat, names, strict=True):
            if name is None:
                panel.set_axis_off()
                continue
            # The square root shows what is rare; the target's own scale for all.
            panel.imshow(
                np.sqrt(np.minimum(kept[f"{pair}/{name}"], highest)).T,
                origin="lower",
                cmap="GnBu",
                vmin=0,
                vmax=np.sqrt(highest),
                interpolation="nearest",
            )
            panel.set_title(name)
            panel.set_xticks([])
            panel.set_yticks([])
        save(figure, ROOT / f"results/paper/samples-{pair}.svg")
        plt.close(figure)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "draw":
        draw(pathlib.Path(sys.argv[2]))
    elif sys.argv[1:] == ["figures"]:
        figures()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
