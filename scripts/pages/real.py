#!/usr/bin/env python3
"""real.py table: the tables of results/real/README.md, from what studies/how_real.py wrote."""

import json
import sys

from published import ROOT

FILE = ROOT / "results" / "real" / "real.jsonl"
CLASSIFIERS = ("logistic", "forest")


def row(cells):
    return "| " + " | ".join(cells) + " |"


def head(cells):
    return [row(cells), row(["---"] * len(cells))]


def with_error(measured):
    value, error = measured
    return f"{value:.3f} ± {error:.3f}"


def auc_table(lines):
    columns = [f"{name}, {of}" for name in CLASSIFIERS for of in ("pair", "independent")]
    yield from head(["pair", "end", "rows of data", *columns])
    for line in lines:
        rows = f"{line['rows']}, {'held out' if line['held_out'] else 'fitted'}"
        cells = [
            with_error(line[of][name]) for name in CLASSIFIERS for of in ("auc", "auc_independent")
        ]
        yield row([line["pair"], line["end"], rows, *cells])


def digit_table(lines):
    yield from head(["end", "rows of", "Fréchet distance", "taken for the digit"])
    for line in lines:
        if "frechet" not in line:
            continue
        for name, distance, share in (
            ("pair", "frechet", "named"),
            ("independent", "frechet_independent", "named_independent"),
            ("data, two halves", "frechet_halves_of_data", "named_data"),
        ):
            yield row([line["end"], name, f"{line[distance]:.2f}", f"{100 * line[share]:.0f} %"])


def main():
    if sys.argv[1:] != ["table"]:
        sys.exit(__doc__)
    lines = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    print("\n".join([*auc_table(lines), "", *digit_table(lines)]))


if __name__ == "__main__":
    main()
