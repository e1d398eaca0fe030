#!/usr/bin/env python3
"""The contact sheet of the pairs that look like data: draws of x0 above those of x1.

  scripts/data_presets_picture.py docs/pictures/data-presets.png --program build/bridgemark

prints the draws that are text. Needs matplotlib.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from data_presets import CHARACTERS, LETTERS

PICTURES = {"data-digits-3-8": (8, 17)}  # side, categories
TEXTS = {"data-words": LETTERS + " ", "data-text": CHARACTERS}
DRAWS, LINES = 14, 6


def draws(program: str, name: str, count: int) -> np.ndarray:
    """[count, 2, D]: x0 and its x1."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "joint.npy"
        command = [program, "sample", name, "--what", "joint", "-n", str(count), "-o", str(file)]
        subprocess.run([*command, "--seed", "1", "-q"], check=True, stdout=subprocess.DEVNULL)
        return np.load(file)


def show_pictures(program: str, out: str) -> None:
    figure, axes = plt.subplots(
        2 * len(PICTURES), DRAWS, figsize=(0.75 * DRAWS, 1.6 * len(PICTURES)), squeeze=False
    )
    for place, (name, (side, categories)) in enumerate(PICTURES.items()):
        for column, pair in enumerate(draws(program, name, DRAWS)):
            for end in (0, 1):
                axes[2 * place + end, column].imshow(
                    pair[end].reshape(side, side), cmap="gray_r", vmin=0, vmax=categories - 1
                )
    for axis in axes.flat:
        axis.axis("off")
    figure.subplots_adjust(0, 0, 1, 1, 0.08, 0.08)
    figure.savefig(out, dpi=100)


def show_texts(program: str) -> None:
    for name, alphabet in TEXTS.items():
        print(name)
        for pair in draws(program, name, LINES):
            print("  " + "  ->  ".join("".join(alphabet[i] for i in row).rstrip() for row in pair))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="picture to write")
    parser.add_argument("--program", required=True, help="bridgemark")
    options = parser.parse_args()
    show_pictures(options.program, options.out)
    show_texts(options.program)


if __name__ == "__main__":
    main()
