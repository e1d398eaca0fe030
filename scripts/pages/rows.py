#!/usr/bin/env python3
"""The solvers of bridgemark.torch beside the bridges and the library's CSBM.

  rows.py slim PART.jsonl ... [LIBRARY.json]
                                writes rows.jsonl: the scores in the lines of studies/rows.py, and
                                those that `bridgemark train` and `evaluate` printed with --json
  rows.py table                 the tables of results/rows/README.md

Joint KLs of solvers with steps come from particles and are upper bounds; those of the
autoregressive bridge and of CNOT are exact, as the bridges' are.
"""

import json
import pathlib
import sys

from families import DIRECTIONS, FAMILIES, SHAPE, mean
from frontier import Frontier, nats
from judge import preset_cells
from published import ROOT
from result_tables import digits_of, head, row
from slim_lines import line_of

FILE = ROOT / "results" / "rows" / "rows.jsonl"
KL = "joint_kl"
ROWS = {
    "csbm": "CSBM in torch, at most",
    "ddsbm": "DDSBM, at most",
    "flow-ot": "flow matching, OT, at most",
    "flow-independent": "flow matching, at most",
    "autoregressive": "autoregressive",
    "cnot": "CNOT",
}
LONGER = {
    "convolution": "CSBM, convolutions",
    "attention": "CSBM, attention",
    "wide": "autoregressive, 4 layers of 512",
    "wider": "autoregressive, 4 layers of 1024",
    "library": "CSBM in torch, the library's network and recipe",
    "library-c++": "CSBM of the library",
}
REFERENCES = {16: ("gaussian-0.02", "uniform-0.005"), 64: ("gaussian-0.02",)}
PAIRS = [
    f"d{dim}-{reference}{family}{end}"
    for dim, references in REFERENCES.items()
    for reference in references
    for family in FAMILIES.values()
    for end in DIRECTIONS.values()
]
SETS = {0: "endless draws", 10_000: "10,000 rows"}

SCORES = (KL, "shape_score", SHAPE, "conditional_trend_score", "c2st_auc")
DETAIL = ("bound", "half_particles_change", "rows", "particles")
KEYS = ("row", "pair", "samples", "training_seconds", "evaluate_seconds", "updates", "network")


def scores_of(result):
    """The scores with their errors, and how the joint KL came about."""
    scores = {
        score: {"value": result[score], "standard_error": result["standard_errors"][score]}
        for score in SCORES
        if result.get(score) is not None
    }
    return {KL: {key: result.get(f"{KL}_{key}") for key in DETAIL}, "scores": scores}


def slimmed(line):
    """Of a line of the study."""
    seed = {"seed": int(line["cell"].rpartition("seed")[2])}
    return {key: line[key] for key in KEYS} | seed | scores_of(line["result"])


def of_library(text):
    """Trainings by the program, each printed before its scores."""
    decoder, place, printed = json.JSONDecoder(), 0, []
    while place < len(text):
        found, place = decoder.raw_decode(text, place)
        printed.append(found)
        place += len(text[place:]) - len(text[place:].lstrip())
    for trained, result in zip(printed[::2], printed[1::2]):
        yield {
            "row": "library-c++",
            "pair": result["pair"],
            "samples": 0,
            "training_seconds": round(trained["diagnostics"]["training_seconds"], 1),
            "updates": trained["diagnostics"]["updates"],
            "seed": trained["seed"],
        } | scores_of(result)


def slim(files):
    """Lines of all parts; a cell that was cut off and made again counts as it was made last."""
    kept = {}
    for file in map(pathlib.Path, files):
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".json":
            kept |= {(line["row"], line["seed"]): line for line in of_library(text)}
            continue
        for line in map(json.loads, text.splitlines()):
            kept[line["cell"], line["pair"]] = slimmed(line)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text("".join(map(line_of, kept.values())))
    print(f"{len(kept)} lines")


def lines():
    """(row, pair, samples) -> the lines of its trainings."""
    cells = {}
    for text in FILE.read_text().splitlines():
        line = json.loads(text)
        cells.setdefault((line["row"], line["pair"], line["samples"]), []).append(line)
    return cells


def score_text(line, score=KL):
    """Empty where it was not measured."""
    found = line and line["scores"].get(score)
    return digits_of(found) if found else ""


def share(line, presets):
    """Of the way from Independent to the Oracle in conditional shape."""
    low, high = (
        mean(presets, (name, "", "", line["pair"], SHAPE)) for name in ("Independent", "Oracle")
    )
    return (line["scores"][SHAPE]["value"] - low) / (high - low)


def measured_rows(cells, samples):
    """Names of rows that were trained on so many rows of data."""
    return [name for name in ROWS if any(key[0] == name and key[2] == samples for key in cells)]


def of_rows(cells, samples):
    """A line for each pair that has one."""
    for pair in PAIRS:
        names = measured_rows(cells, samples)
        found = [cells.get((name, pair, samples), [None])[0] for name in names]
        if any(found):
            yield pair, found


def joint_tables(cells, presets):
    """Joint KLs, and the nearest bridge of results/frontier."""
    frontier = Frontier()
    for samples, title in SETS.items():
        beside = ("CSBM of the library, at most", "nearest bridge") if samples == 0 else ()
        names = [ROWS[name] for name in measured_rows(cells, samples)]
        head(f"joint KL, {title}", *names, *beside)
        for pair, found in of_rows(cells, samples):
            others = []
            if beside:
                forward = pair.removesuffix("-reverse")
                nearest = frontier.best(forward, "forward" if pair == forward else "reverse")
                ours = presets.get(("CSBM", "kl", "16", pair, KL))
                others = [digits_of(ours[0]) if ours else "", nats(nearest)]
            row(pair, *map(score_text, found), *others)
        print()


def share_tables(cells, presets):
    """How far draws come."""
    for samples, title in SETS.items():
        names = [ROWS[name].removesuffix(", at most") for name in measured_rows(cells, samples)]
        head(f"share of the way, {title}", *names)
        for pair, found in of_rows(cells, samples):
            row(pair, *(f"{share(line, presets):.2f}" if line else "" for line in found))
        print()


def longer_table(cells, presets):
    """Trainings that something is asked of."""
    head("longer training", "pair", "joint KL", "conditional shape", "share of the way",
         "updates", "training, s")  # fmt: skip
    for name, title in LONGER.items():
        for (row_name, pair, _), trained in cells.items():
            for line in trained if row_name == name else []:
                row(
                    f"{title}, seed {line['seed']}",
                    pair,
                    ("at most " if line[KL]["bound"] == "upper" else "") + score_text(line),
                    f"{line['scores'][SHAPE]['value']:.3f}",
                    f"{share(line, presets):.3f}",
                    f"{line['updates']:,}",
                    f"{line['training_seconds']:.0f}",
                )
    print()


def main():
    if sys.argv[1:2] == ["slim"] and len(sys.argv) > 2:
        slim(sys.argv[2:])
    elif sys.argv[1:] == ["table"]:
        cells, presets = lines(), preset_cells()
        joint_tables(cells, presets)
        share_tables(cells, presets)
        longer_table(cells, presets)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
