#!/usr/bin/env python3
"""The contact sheet of the pairs that look like data: rows of the data beside draws of the pair.

  scripts/data_presets_picture.py docs/pictures/data-presets.png --program build/bridgemark \\
    --work FOLDER

Four lines a pair: data of x0, draws of x0, the x1 of these draws, data of x1. FOLDER is that of
scripts/data_presets.py. Prints the same of pairs that are text. Needs matplotlib.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from data_presets import ALL, Store

DRAWS, LINES = 14, 6
NAMES = ("data x0", "pair x0", "pair x1", "data x1")


def draws(program: str, name: str, count: int) -> np.ndarray:
    """[count, 2, D]: x0 and its x1."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "joint.npy"
        command = [program, "sample", name, "--what", "joint", "-n", str(count), "-o", str(file)]
        subprocess.run([*command, "--seed", "1", "-q"], check=True, stdout=subprocess.DEVNULL)
        return np.load(file)


def four_lines(program: str, store: Store, name: str, count: int) -> list[np.ndarray]:
    """Rows of data, of the pair's two ends, and of data: held out where some are."""
    preset = ALL[name]
    data = (preset.held_out or preset.rows)(store)
    random = np.random.default_rng(1)
    of_data = [rows[random.permutation(len(rows))[:count]] for rows in data]
    of_pair = draws(program, name, count)
    return [of_data[0], of_pair[:, 0], of_pair[:, 1], of_data[1]]


def show_pictures(program: str, store: Store, out: str) -> None:
    names = [name for name, preset in ALL.items() if not preset.alphabet]
    figure, axes = plt.subplots(
        4 * len(names), DRAWS, figsize=(0.62 * DRAWS + 0.9, 2.6 * len(names)), squeeze=False
    )
    for place, name in enumerate(names):
        for line, rows in enumerate(four_lines(program, store, name, DRAWS)):
            side = round(rows.shape[1] ** 0.5)
            for axis, row in zip(axes[4 * place + line], rows, strict=True):
                # Dark ink on light paper; stones and bricks as they are.
                colours = "gray_r" if "digits" in name else "gray"
                top = ALL[name].num_categories - 1
                axis.imshow(row.reshape(side, side), cmap=colours, vmin=0, vmax=top)
            axes[4 * place + line, 0].set_ylabel(
                NAMES[line], rotation=0, ha="right", va="center", fontsize=8
            )
    for axis in axes.flat:
        axis.set_xticks([])
        axis.set_yticks([])
        axis.set_frame_on(False)
    figure.subplots_adjust(0.085, 0.005, 0.998, 0.995, 0.08, 0.08)
    figure.savefig(out, dpi=100)


def show_texts(program: str, store: Store) -> None:
    for name, preset in ALL.items():
        if not preset.alphabet:
            continue
        print(name)
        for line, rows in zip(NAMES, four_lines(program, store, name, LINES), strict=True):
            for row in rows:
                print(f"  {line}: " + "".join(preset.alphabet[i] for i in row).rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="picture to write")
    parser.add_argument("--program", required=True, help="bridgemark")
    parser.add_argument("--work", type=Path, required=True, help="folder of the data")
    options = parser.parse_args()
    store = Store(options.work)
    show_pictures(options.program, store, options.out)
    show_texts(options.program, store)


if __name__ == "__main__":
    main()
