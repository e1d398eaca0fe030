#!/usr/bin/env python3
"""Which number without a truth deserves belief.

proxies.py table            the tables of results/proxies/README.md
proxies.py beliefs          what bridgemark/metric/own_data/data_score.cc says of each number
proxies.py figure           draws results/proxies/proxies.svg; needs matplotlib
proxies.py merge FILE...    puts lines of studies/proxies.py into results/proxies/proxies.jsonl: of
                            a cell that is there twice the first one that is whole
"""

import json
import math
import pathlib
import statistics
import sys

import slim_lines
from figures import pyplot, save
from proxies_cells import (
    FILE,
    PROXIES,
    comparisons,
    correlations,
    misled,
    read,
)
from result_tables import head, row

SOME = 10  # cells from which on a sentence says what was found
CLOSE = 1.0  # nats: bridges that are not far apart
GROUPS = ("n = 300", "n = 3,000", "n = 10,000", "D = 2", "D = 16", "D = 64", "all")
WORSE = {  # what a proxy may take for better than the default DLightSB
    "dlightsb-heart": "rows by heart",
    "dlightsb-rough": "no smoothing",
    "dlightsb-small": "2 components",
    "dlightsb-hasty": "50 updates",
    "feature-wise": "Feature-wise SB",
    "sinkhorn": "Sinkhorn",
    "sinkhorn-rows": "Sinkhorn on rows",
    "independent": "Independent",
    "reference": "the reference",
}


def group(items, name, cell_of):
    """Those of one number of rows or one dimension."""
    key, _, value = name.partition(" = ")
    wanted = int(value.replace(",", "")) if value else None
    of = {"n": lambda cell: cell.samples, "D": lambda cell: cell.dim}.get(key)
    return [item for item in items if of is None or of(cell_of(item)) == wanted]


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else ""


def agreement(found):
    """(told apart, of them with the true sign)."""
    apart = [each for each in found if each.apart]
    return apart, [each for each in apart if each.agrees]


def sign_table(cells):
    """Whether the held-out difference has the sign of the true one."""
    found = comparisons(cells)
    head(
        "two bridges",
        "cells",
        "comparisons",
        "told apart",
        "with the true sign",
        "share",
        "within 1 nat of each other",
        "with the true sign there",
        "share there",
        "true difference within 2 errors",
    )
    for name in GROUPS:
        some = group(found, name, lambda each: each.cell)
        apart, right = agreement(some)
        close = [each for each in some if abs(each.true) < CLOSE]
        close_apart, close_right = agreement(close)
        within = sum(each.beyond() <= 2 for each in some)
        row(
            name,
            f"{len({id(each.cell) for each in some}):,}",
            f"{len(some):,}",
            f"{len(apart):,}",
            f"{len(right):,}",
            share(len(right), len(apart)),
            f"{len(close_apart):,} of {len(close):,}",
            f"{len(close_right):,}",
            share(len(close_right), len(close_apart)),
            share(within, len(some)),
        )
    print()


def wrong_table(cells):
    """The comparisons whose sign is wrong, and whether the truth tells the two apart."""
    wrong = [each for each in comparisons(cells) if each.apart and not each.agrees]
    head("wrong sign", "n", "said to be nearer", "than", "by", "true difference")
    for each in sorted(wrong, key=lambda each: -abs(each.difference) / each.error):
        names = (each.first, each.second) if each.difference > 0 else (each.second, each.first)
        sign = 1 if each.difference > 0 else -1
        row(
            each.cell.pair,
            f"{each.cell.samples:,}",
            *names,
            f"{abs(each.difference):.3g} ± {each.error:.2g}",
            f"{sign * each.true:.3g} ± {each.true_error:.2g}",
        )
    print()


def mean_text(values):
    """A mean with its error over cells."""
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    error = statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.mean(values):.2f} ± {error:.2f}"


def ranked(cells, proxy, kind):
    """correlations() of the cells that are for a kind: networks are only in their own."""
    networks = [cell for cell in cells if cell.menu == "networks"]
    others = [cell for cell in cells if cell.menu != "networks"]
    return correlations({"bridges": others, "networks": networks}.get(kind, cells), proxy, kind)


def correlation_table(cells):
    """How each number ranks the runs of a cell, beside their joint KLs."""
    menus = {"bridges": "bridges", "networks": "networks", "all kinds": None}
    columns = [
        f"{name}: {what}"
        for name in menus
        for what in ("cells", "Spearman", "Kendall", "best is best")
    ]
    head("rank correlation with the joint KL", *columns)
    for proxy, (title, _) in PROXIES.items():
        texts = []
        for kind in menus.values():
            found = ranked(cells, proxy, kind)
            texts += [str(len(found)) if found else ""]
            texts += [mean_text([each[place] for each in found]) for place in (0, 1)]
            texts += [share(sum(each[2] for each in found), len(found))]
        row(title, *texts)
    print()


def belief(cells, proxy):
    """The sentence beside a number that `evaluate` prints; None where too little was measured."""
    others = sum(
        any(cell.badness(name, proxy) is not None for name in cell.names("rows")) for cell in cells
    )
    kinds = {"bridges": "among bridges", "networks": "among networks"}
    if others >= SOME:  # which only some numbers have
        kinds[None] = "among samplers of all kinds"
    parts = []
    for kind, words in kinds.items():
        found = ranked(cells, proxy, kind)
        if len(found) >= SOME:
            parts.append(f"{statistics.mean(each[0] for each in found):.2f} {words}")
    return f"Rank correlation with the true KL: {', '.join(parts)}." if parts else None


def misled_table(cells):
    """Where a number takes a worse run for better than the default DLightSB."""
    cells = [cell for cell in cells if cell.menu != "networks"]
    head("takes it for better than DLightSB", *WORSE.values())
    for proxy, (title, _) in PROXIES.items():
        counts = [misled(cells, proxy, "dlightsb", worse) for worse in WORSE]
        if any(decided for decided, _ in counts):
            row(title, *(f"{turned} of {decided}" if decided else "" for decided, turned in counts))
    print()


def figure(cells):
    plt = pyplot("proxies")
    drawing, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
    found = comparisons(cells)
    kinds = (
        ("not told apart", "#c8ccd0", [each for each in found if not each.apart]),
        ("told apart, true sign", "#0072B2", [e for e in found if e.apart and e.agrees]),
        ("told apart, wrong sign", "#D55E00", [e for e in found if e.apart and not e.agrees]),
    )
    for label, colour, some in kinds:
        # One of the two orders of a comparison: the truth's.
        points = [(abs(each.true), math.copysign(1, each.true) * each.difference) for each in some]
        left.scatter(
            *zip(*points or [(math.nan, math.nan)]), s=7, color=colour, linewidths=0, label=label
        )
    left.plot([0, 300], [0, 300], color="#333333", linewidth=0.8)
    left.set_xscale("symlog", linthresh=0.01)
    left.set_yscale("symlog", linthresh=0.01)
    left.set_xlabel("difference of two joint KLs, nats")
    left.set_ylabel("difference of their held-out objectives")
    left.legend(frameon=False, fontsize=8, loc="upper left")
    left.grid(color="#eef0f2")
    left.set_axisbelow(True)
    kinds = {"bridges": ("bridges", "#0072B2", 0.16), None: ("all kinds", "#D55E00", -0.16)}
    names = list(PROXIES)
    for kind, (label, colour, shift) in kinds.items():
        for place, proxy in enumerate(names):
            values = [each[0] for each in ranked(cells, proxy, kind)]
            if values:
                right.plot(
                    statistics.mean(values),
                    -place + shift,
                    marker="o",
                    markersize=4.5,
                    color=colour,
                    linestyle="",
                    label=label if place == 0 or proxy == names[1] and kind is None else None,
                )
    handles, labels = right.get_legend_handles_labels()
    unique = dict(zip(labels, handles))
    right.legend(unique.values(), unique.keys(), frameon=False, fontsize=8, loc="lower left")
    right.set_yticks([-place for place in range(len(names))], [PROXIES[name][0] for name in names])
    right.set_xlim(-1, 1.05)
    right.axvline(0, color="#333333", linewidth=0.8)
    right.set_xlabel("rank correlation with the joint KL (Spearman)")
    right.grid(color="#eef0f2", axis="x")
    save(drawing, FILE.with_suffix(".svg"))


def merge(sources):
    """Lines in the order of the files; a whole cell goes before one that time cut short."""
    found = {}
    for path in map(pathlib.Path, sources):
        for line in map(json.loads, path.read_text().splitlines()):
            key = line["pair"], line["samples"], line["menu"] == "networks"
            if key not in found or (found[key]["left"] and not line["left"]):
                found[key] = line
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text("".join(map(slim_lines.line_of, found.values())))
    whole = sum(not line["left"] for line in found.values())
    print(f"{len(found)} cells, {whole} of them whole")


def main():
    if sys.argv[1:2] == ["merge"] and len(sys.argv) > 2:
        merge(sys.argv[2:])
    elif sys.argv[1:] == ["table"]:
        cells = read()
        sign_table(cells)
        wrong_table(cells)
        correlation_table(cells)
        misled_table(cells)
    elif sys.argv[1:] == ["beliefs"]:
        cells = read()
        for proxy in PROXIES:
            print(f"{proxy}: {belief(cells, proxy)}")
    elif sys.argv[1:] == ["figure"]:
        figure(read())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
