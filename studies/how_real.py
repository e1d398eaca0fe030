#!/usr/bin/env python3
"""How real are the pairs that look like data? Classifiers between rows of data and of the pair.

  studies/how_real.py OUT.jsonl [NAME ...] --program build/bridgemark --work FOLDER

writes a line for each preset and end: the area under the ROC curve (AUC) of two classifiers that
tell rows of the data from as many rows of the pair, by five folds. An AUC of 0.5 says that a
classifier cannot tell them, one of 1 that it always does. Beside it are the AUCs of rows whose
coordinates are independent, with the data's own marginals: what a pair must be under to know more
than single coordinates. Digits also have the Fréchet distance between what a small classifier of
ten digits makes of both, as FID has of photographs.

FOLDER keeps the fetched data (scripts/data_presets.py). Needs numpy, scikit-learn and Pillow.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import MaxAbsScaler

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))

from data_presets import ALL, Store

MOST_ROWS = 1000  # of the data, taken at random
FOLDS = 5
FRECHET_DRAWS = 10  # of the pair, over which a distance is averaged
SEED = 1


def drawn(program, name, end, count, seed):
    """Rows of one end of the pair."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rows.npy"
        command = [program, "sample", name, "--what", end, "-n", str(count), "-o", str(file)]
        subprocess.run([*command, "--seed", str(seed), "-q"], check=True, stdout=subprocess.DEVNULL)
        return np.load(file)


def independent(rows, count, random):
    """Rows with the data's marginals and nothing else of it."""
    columns = [random.choice(rows[:, d], size=count) for d in range(rows.shape[1])]
    return np.stack(columns, axis=1)


def of_picture(rows):
    """Pixels, and how each differs from its right and its lower neighbour."""
    side = round(rows.shape[1] ** 0.5)
    image = rows.reshape(-1, side, side).astype(float)
    differences = [np.abs(np.diff(image, axis=axis)).reshape(len(rows), -1) for axis in (1, 2)]
    return np.concatenate([rows, *differences], axis=1)


def of_text(categories):
    """Which letter is where, and how often each letter follows each other."""

    def features(rows):
        places = np.eye(categories)[rows].reshape(len(rows), -1)
        pairs = np.zeros((len(rows), categories * categories))
        for left, right in zip(rows[:, :-1].T, rows[:, 1:].T, strict=True):
            pairs[np.arange(len(rows)), left * categories + right] += 1
        return np.concatenate([places, pairs], axis=1)

    return features


def aucs(real, other, features):
    """{classifier: [AUC, standard error over the folds]}."""
    x = MaxAbsScaler().fit_transform(np.concatenate([features(real), features(other)]))
    y = np.repeat([1, 0], [len(real), len(other)])
    makers = {
        "logistic": lambda: LogisticRegression(C=0.1, max_iter=2000),
        "forest": lambda: RandomForestClassifier(300, random_state=SEED, n_jobs=2),
    }
    found = {}
    for name, make in makers.items():
        folds = []
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(x, y):
            scores = make().fit(x[train], y[train]).predict_proba(x[test])[:, 1]
            folds.append(roc_auc_score(y[test], scores))
        error = np.std(folds, ddof=1) / len(folds) ** 0.5
        found[name] = [round(float(np.mean(folds)), 4), round(float(error), 4)]
    return found


class DigitFeatures:
    """The hidden units of a small network that was trained to tell all ten digits apart."""

    def __init__(self):
        digits = load_digits()
        self.network = MLPClassifier((64,), max_iter=400, alpha=1e-3, random_state=SEED)
        self.network.fit(digits.data / 16, digits.target)

    def __call__(self, rows):
        hidden = rows / 16 @ self.network.coefs_[0] + self.network.intercepts_[0]
        return np.maximum(hidden, 0)

    def named(self, rows, digit):
        """The share of rows that it takes for the digit."""
        return float(np.mean(self.network.predict(rows / 16) == digit))


def frechet(a, b):
    """|mean - mean|^2 + tr(A + B - 2 (A B)^(1/2)) of the normal laws of both."""
    gap = a.mean(axis=0) - b.mean(axis=0)
    a, b = np.cov(a.T), np.cov(b.T)
    roots = np.sqrt(np.maximum(np.linalg.eigvals(a @ b).real, 0))
    return float(gap @ gap + np.trace(a) + np.trace(b) - 2 * roots.sum())


def digit_scores(real, digit, draw, random):
    """Distances of as many rows as the data has, and the digits that the network sees."""
    features = DigitFeatures()
    of_data = features(real)
    pairs = [draw(len(real), SEED + 1 + i) for i in range(FRECHET_DRAWS)]
    loose = [independent(real, len(real), random) for _ in range(FRECHET_DRAWS)]
    halves = []
    for _ in range(FRECHET_DRAWS):
        order = random.permutation(len(real))
        half = len(real) // 2
        halves.append(frechet(of_data[order[:half]], of_data[order[half:]]))
    mean = lambda values: round(float(np.mean(values)), 3)
    return {
        "frechet": mean([frechet(of_data, features(rows)) for rows in pairs]),
        "frechet_independent": mean([frechet(of_data, features(rows)) for rows in loose]),
        "frechet_halves_of_data": mean(halves),
        "named": mean([features.named(rows, digit) for rows in pairs]),
        "named_independent": mean([features.named(rows, digit) for rows in loose]),
        "named_data": round(features.named(real, digit), 3),
    }


def lines_of(name, store, program):
    preset = ALL[name]
    held_out = preset.held_out is not None
    rows_of = preset.held_out if held_out else preset.rows
    features = of_text(preset.num_categories) if preset.alphabet else of_picture
    for end, rows in zip(("x0", "x1"), rows_of(store), strict=True):
        random = np.random.default_rng(SEED)
        real = rows[random.permutation(len(rows))[:MOST_ROWS]]
        draw = lambda count, seed, end=end: drawn(program, name, end, count, seed)
        line = {
            "pair": name,
            "end": end,
            "rows": len(real),
            "held_out": held_out,
            "auc": aucs(real, draw(len(real), SEED), features),
            "auc_independent": aucs(real, independent(real, len(real), random), features),
        }
        if name == "data-digits-3-8":
            line |= digit_scores(real, {"x0": 3, "x1": 8}[end], draw, random)
        yield line


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, help="file to write, a line each")
    parser.add_argument("names", nargs="*", default=list(ALL), help="of presets (default: all)")
    parser.add_argument("--program", required=True, help="bridgemark")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder of the data")
    options = parser.parse_args()
    store = Store(options.work)
    with open(options.out, "w", encoding="utf-8") as file:
        for name in options.names:
            for line in lines_of(name, store, options.program):
                print(json.dumps(line), file=file, flush=True)


if __name__ == "__main__":
    main()
