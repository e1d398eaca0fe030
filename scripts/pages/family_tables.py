#!/usr/bin/env python3
"""Tables of the family study. Standard library only.

    family_tables.py keep FOUND.jsonl ...   the 100 closest seeds of each pair into search.jsonl
    family_tables.py write                  README.md from instances.jsonl and search.jsonl; prints
                                            how far the chosen seeds are from the published cells

Both work in results/published-pairs.
"""

import csv
import json
import pathlib
import sys

from published import ROOT

sys.path.append(str(ROOT / "scripts"))
from wrap_markdown import wrapped  # noqa: E402 (its folder is known now)

FOLDER = ROOT / "results/published-pairs"
PUBLISHED = ROOT / "bridgemark/report/data/published.csv"
KEPT = 100
ALL_INPUTS = 157
ROUNDING = 0.0005  # published cells have three digits

BASELINES = {
    "independent": "Independent",
    "reference": "Reference",
    "feature-wise": "Feature-wise SB",
}
SCORES = ("conditional_shape_score", "conditional_trend_score", "shape_score", "trend_score")
CONSTRUCTIONS = ("sphere", "spread-10", "spread-5")
WIDTHS = ("text", "2")

TOP = """# Which pairs the published tables were measured on

This page finds the construction of the published pairs, which is not that of the paper's text.
Independent, Reference and Feature-wise SB have nothing to train, so their scores depend on the pair
alone. Their published cells (12 scores on each of 12 pairs) therefore show which construction the
published pairs came from. They are compared with fresh instances of three constructions, scored by
the evaluation protocol:

- sphere: means on a sphere of radius 5, as the paper's text says;
- spread-10: each coordinate of a mean a whole number on 5..44, means at least 10 categories apart;
- spread-5: the same, at least 5 apart;

each with the widths of the text (σ = 1.5, 1.5, 2.5 for D = 2, 16, 64) and with that of the
published code (σ = 2). `instances.jsonl` has a line for each instance: the four scores (conditional
shape, conditional trend, shape, trend) of each baseline, on `inputs` of the 157 conditional inputs,
and `distance`, the mean absolute difference from the published cells over the 12 scores.

```
cmake --build --preset cpu --target family_study
build/family_study instances -o results/published-pairs/instances.jsonl --pairs 'd2-*'
build/family_study instances -o results/published-pairs/instances.jsonl --pairs 'd16-*' --inputs 32
build/family_study instances -o results/published-pairs/instances.jsonl --pairs 'd64-*' --inputs 16
build/family_study search -o d2.jsonl --pairs 'd2-*' --seeds 0:1000
build/family_study search -o d16.jsonl --pairs 'd16-*' --seeds 0:1000 --inputs 32
build/family_study search -o d64.jsonl --pairs 'd64-*' --seeds 0:1000 --inputs 8
scripts/pages/family_tables.py keep d2.jsonl d16.jsonl d64.jsonl
scripts/pages/family_tables.py write
```

With fewer `--inputs` than 157, the search scores every seed on those and then the 30 closest on
all.
"""


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def read_published():
    """Published value by pair, baseline and score."""
    cells = {}
    for row in csv.DictReader(PUBLISHED.open()):
        for baseline, method in BASELINES.items():
            if row["method"] == method and row["table"] in SCORES:
                for column, value in row.items():
                    if column.startswith("d"):
                        pair = column.replace("_", "-") + "-spread"
                        cells[pair, baseline, row["table"]] = float(value)
    return cells


def width_of(line):
    return "2" if line["sigma"] == 2 else "text"


def inside(value, low, high):
    return low - ROUNDING <= value <= high + ROUNDING


def dim_of(pair):
    return int(pair[1 : pair.index("-")])


def overview(instances, published):
    """How many published cells lie inside the range of a construction, by D."""
    lines = [
        "## Cells inside the range of a construction",
        "",
        "Of the 48 published cells of a D (4 references, 3 baselines, 4 scores), how many lie "
        "between the smallest and the largest value of the instances; and the mean and the "
        "smallest `distance` of an instance.",
        "",
        "| construction, σ | instances a pair | D = 2 | D = 16 | D = 64 |",
        "| --- | --- | --- | --- | --- |",
    ]
    for construction in CONSTRUCTIONS:
        for width in WIDTHS:
            texts = []
            for dim in (2, 16, 64):
                cells = [
                    key
                    for key in published
                    if dim_of(key[0]) == dim and instances.has(construction, width, key)
                ]
                if not cells:
                    texts.append("not measured")
                    continue
                found = sum(
                    inside(published[key], *instances.range(construction, width, *key))
                    for key in cells
                )
                distances = instances.distances(construction, width, dim)
                texts.append(
                    f"{found} of {len(cells)}; {sum(distances) / len(distances):.3f}, "
                    f"{min(distances):.3f}"
                )
            count = instances.count(construction, width)
            lines.append(f"| {construction}, {width} | {count} | " + " | ".join(texts) + " |")
    return lines + [""]


class Instances:
    """The lines of instances.jsonl by what they measure."""

    def __init__(self, lines):
        self.lines = lines
        self.values = {}
        for line in lines:
            for baseline in BASELINES:
                for score, value in zip(SCORES, line[baseline]):
                    key = line["construction"], width_of(line), line["pair"], baseline, score
                    self.values.setdefault(key, []).append(value)

    def has(self, construction, width, cell):
        return (construction, width, *cell) in self.values

    def range(self, *key):
        return min(self.values[key]), max(self.values[key])

    def distances(self, construction, width, dim):
        return [
            line["distance"]
            for line in self.lines
            if dim_of(line["pair"]) == dim
            and line["construction"] == construction
            and width_of(line) == width
        ]

    def count(self, construction, width):
        return min(
            len(values) for key, values in self.values.items() if key[:2] == (construction, width)
        )


def cell_table(instances, published):
    lines = [
        "## Every cell",
        "",
        "Smallest and largest value over the instances; bold where the published cell lies inside.",
        "",
    ]
    columns = [(construction, width) for construction in CONSTRUCTIONS for width in WIDTHS]
    outside = []
    for baseline, method in BASELINES.items():
        lines += [
            f"### {method}",
            "",
            "| pair | score | published | " + " | ".join(f"{c}, {w}" for c, w in columns) + " |",
            "| --- | --- | --- |" + " --- |" * len(columns),
        ]
        for (pair, name, score), value in published.items():
            if name != baseline or not all(
                instances.has(*column, (pair, name, score)) for column in columns
            ):
                continue
            texts = []
            for construction, width in columns:
                low, high = instances.range(construction, width, pair, baseline, score)
                text = f"{low:.3f}..{high:.3f}"
                texts.append(f"**{text}**" if inside(value, low, high) else text)
            short = score.removesuffix("_score").replace("_", " ")
            lines.append(
                f"| {pair.removesuffix('-spread')} | {short} | {value:.3f} | "
                + " | ".join(texts)
                + " |"
            )
            if not any(text.startswith("**") for text in texts):
                outside.append(f"{method}, {short}, {pair.removesuffix('-spread')} ({value:.3f})")
        lines.append("")
    lines += [
        "## Cells that no construction explains",
        "",
        "Outside of all six ranges: " + ("; ".join(outside) if outside else "none") + ".",
        "",
    ]
    return lines


def seed_table(found, published):
    lines = [
        "## The seeds of the spread presets",
        "",
        "The closest of the seeds searched, on all 157 inputs; ours beside the published cell in "
        "brackets. `search.jsonl` has the 100 closest of each pair, those scored on fewer inputs "
        "after those scored on "
        "all.",
        "",
        "| preset | seed | of | distance | conditional shape: Independent | Reference "
        "| Feature-wise SB |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    differences = []
    for pair in dict.fromkeys(key[0] for key in published):
        best = [line for line in found if line["pair"] == pair and line["inputs"] == ALL_INPUTS]
        if not best:
            lines.append(f"| {pair} | not searched | | | | | |")
            continue
        best = min(best, key=lambda line: line["distance"])
        texts = []
        for baseline in BASELINES:
            value = published[pair, baseline, SCORES[0]]
            texts.append(f"{best[baseline][0]:.3f} [{value:.3f}]")
            if baseline != "feature-wise":
                differences.append(abs(best[baseline][0] - value))
        lines.append(
            f"| {pair} | {best['seed']} | {best['of']} | {best['distance']:.4f} | "
            + " | ".join(texts)
            + " |"
        )
    if differences:
        mean = (
            f"Mean |ours − published| of Independent and Reference, conditional shape, over these "
            f"{len(differences)} cells: {sum(differences) / len(differences):.4f}."
        )
        print(mean)
        lines += ["", mean]
    return lines + [""]


def keep(paths):
    found = {}
    for path in paths:
        for line in read_lines(pathlib.Path(path)):
            found.setdefault(line["pair"], {})[line["seed"], line["inputs"]] = line
    with (FOLDER / "search.jsonl").open("w") as out:
        for lines in found.values():
            seeds = len({seed for seed, _ in lines})
            whole = {seed for seed, inputs in lines if inputs == ALL_INPUTS}
            chosen = [
                line
                for line in lines.values()
                if line["inputs"] == ALL_INPUTS or line["seed"] not in whole
            ]
            chosen.sort(key=lambda line: (line["inputs"] != ALL_INPUTS, line["distance"]))
            for line in chosen[:KEPT]:
                out.write(json.dumps({**line, "of": seeds}) + "\n")


def write():
    published = read_published()
    instances = Instances(read_lines(FOLDER / "instances.jsonl"))
    lines = [TOP, *overview(instances, published)]
    if (FOLDER / "search.jsonl").exists():
        lines += seed_table(read_lines(FOLDER / "search.jsonl"), published)
    lines += cell_table(instances, published)
    (FOLDER / "README.md").write_text(wrapped("\n".join(lines).rstrip() + "\n"))


def main():
    if sys.argv[1:2] == ["keep"] and len(sys.argv) > 2:
        keep(sys.argv[2:])
    elif sys.argv[1:] == ["write"]:
        write()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
