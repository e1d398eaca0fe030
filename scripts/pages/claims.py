#!/usr/bin/env python3
"""claims.py words [--check] | tables: sentences of the pages whose numbers are read off results/.

Each function of CLAIMS recomputes the numbers of one claim and yields (page, words): words that
the page must have, line breaks aside. `words` prints them; with --check it prints those that a
page lacks, and the numbers of docs/contest.md that no words hold, which are errors. `tables`
prints the tables of docs/corrections.md.
"""

import csv
import itertools
import json
import re
import statistics
import sys

import contest_claims
import families_claims
import family_tables
import fresh
import fresh_claims
import frontier
import frontier_claims
import judge
import judge_claims
import paper_cells
import proxies_cells
import proxies_claims
import rows_claims
import samples_claims
from families import REFERENCES, SHAPE, SOLVERS, mean, share
from published import ROOT
from result_tables import EXACT, PAIRS, PAPER, head, measured, row
from samples_grid import Grid, Results

CONTEST, CORRECTIONS, README = "docs/contest.md", "docs/corrections.md", "README.md"
BENCHMARK = "docs/benchmark.md"
MEASURED, RECIPES = "results/paper/README.md", "results/dlightsb/README.md"
BENCH = "bench/README.md"
SPREAD = [f"{pair}-spread" for pair in PAIRS]
SCORES = {
    "conditional_shape_score": "conditional shape",
    "conditional_trend_score": "conditional trend",
    "shape_score": "shape",
    "trend_score": "trend",
}


def page_table(page, *first):
    """Rows of the first table of a page whose head begins with these columns."""
    lines = (ROOT / page).read_text().splitlines()
    words = "| " + " | ".join(first) + " |"
    start = next(i for i, line in enumerate(lines) if line.startswith(words))
    table = itertools.takewhile(lambda line: line.startswith("|"), lines[start + 2 :])
    return [[word.strip() for word in line.strip("|").split("|")] for line in table]


def ends(values, digits):
    """Smallest and largest."""
    return f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"


def family_results(_, families):
    """Who wins where on the four families."""
    for function in families_claims.CLAIMS:
        yield from function(families)


def networks(_, families):
    """How far the networks are from the truth."""
    found = judge.Judge(families)
    for function in judge_claims.CLAIMS:
        yield from function(found)


def fresh_instances(paper, families):
    """Whether the tables hold on instances that no recipe was chosen on."""
    found = fresh.Fresh(families, paper)
    for function in fresh_claims.CLAIMS:
        yield from function(found)


def without_truth(_, __):
    """Which numbers without a truth deserve belief."""
    cells = proxies_cells.read()
    for function in proxies_claims.CLAIMS:
        yield from function(cells)


def nearest_bridges(_, families):
    """How near the nearest bridge is, both directions from one training."""
    found = frontier.Frontier(families)
    for function in frontier_claims.CLAIMS:
        yield from function(found)


def few_rows(_, __):
    """Which solver for how many rows."""
    results = Results(Grid())
    for function in samples_claims.CLAIMS:
        yield from function(results)


def reading(paper, families):
    """Which solver for which pair."""
    found = contest_claims.Findings(families, paper)
    for function in contest_claims.CLAIMS:
        yield from function(found)


def dimension(paper, _):
    """What the dimension costs: the share of the way at D = 2 less that at D = 64."""

    def lost(*solvers):
        return [
            share(paper, solver, f"d2-{reference}-spread")
            - share(paper, solver, f"d64-{reference}-spread")
            for solver in solvers
            for reference in REFERENCES
        ]

    texts = []
    for steps in ("16", "64"):
        low, high = ends(lost(("CSBM", "kl", steps), ("α-CSBM", "kl", steps)), 2)
        texts.append(f"by {low} to {high} with {steps} steps")
    yield MEASURED, " and ".join(texts)
    bridges = max(lost(SOLVERS["DLightSB"], SOLVERS["DLightSB-M"]))
    yield MEASURED, f"by {bridges:.2f} at the most"


def loss_minimum(paper, _):
    """What the pairs of DLightSB-M's loss cost, beside all that the published recipe loses."""
    minimum = {}
    for pair, _, pairs, value in page_table(RECIPES, "pair", "steps", "pairs"):
        minimum.setdefault(pair, {})[pairs] = float(value)
    bias = max(by_pairs["truth"] - by_pairs["independent"] for by_pairs in minimum.values())
    for page in (MEASURED, CORRECTIONS):
        for by_pairs in minimum.values():
            yield (
                page,
                (
                    f"{by_pairs['independent']:.4f} with independent pairs, "
                    f"{by_pairs['minibatch']:.4f} with pairs by the reference and "
                    f"{by_pairs['truth']:.4f} with the bridge's own"
                ),
            )
        yield page, f"at most {bias:.2f}"

    published = "DLightSB-M" + PAPER
    low, high = ends(
        [
            mean(paper, ("DLightSB-M", *key[1:])) - mean(paper, key)
            for key in paper
            if key[0] == published and key[-1] == EXACT
        ],
        2,
    )
    yield MEASURED, f"the published recipe loses {low} to {high} of exact shape"
    pairs = ("d16-gaussian-0.02-spread", "d64-gaussian-0.02-spread", "d64-gaussian-0.05-spread")
    name, *values = page_table(RECIPES, "recipe", *pairs)[0]
    assert name == "even steps, independent pairs, rate 0.01"
    ours = [f"{float(value):.3f}" for value in values]
    theirs = [f"{mean(paper, (published, 'kl', '64', pair, EXACT)):.3f}" for pair in pairs]
    yield (
        MEASURED,
        (
            f"{ours[0]}, {ours[1]} and {ours[2]} where the published recipe has "
            f"{theirs[0]}, {theirs[1]} and {theirs[2]}"
        ),
    )


def construction(_, __):
    """How many published cells of the baselines lie within the range of a construction."""
    lines = family_tables.read_lines(family_tables.FOLDER / "instances.jsonl")
    instances, published = family_tables.Instances(lines), family_tables.read_published()
    spread, sphere = (
        sum(
            family_tables.inside(value, *instances.range(name, "text", *cell))
            for cell, value in published.items()
        )
        for name in ("spread-10", "sphere")
    )
    yield MEASURED, f"{spread} of the {len(published)} published cells of baselines"
    yield MEASURED, f"has {sphere} of the {len(published)} published cells"


def published_recipe(paper, _):
    """By how much our recipe exceeds the published one, on the forward pairs."""
    for name, digits in (("DLightSB", 3), ("DLightSB-M", 2)):
        gains = [
            mean(paper, (name, *key[1:])) - mean(paper, key)
            for key in paper
            if key[0] == name + PAPER and key[3] in SPREAD and key[4] == SHAPE
        ]
        low, high = f"{min(gains):.3f}", f"{max(gains):.{digits}f}"
        yield MEASURED, f"{low} to {high} for {name}"


def spreads(paper, _):
    """How far apart the trainings of a cell end, of the forward pairs and of the reversed ones."""
    groups = {}  # (method, loss, reversed or not) -> (distance, pair) of each cell
    for (method, loss, _, pair, score), lines in paper.items():
        if score == SHAPE and len(lines) > 1:
            values = [line["value"] for line in lines]
            group = groups.setdefault((method, loss, pair.endswith("-reverse")), [])
            group.append((max(values) - min(values), pair))

    def median(method, loss="", back=False):
        return f"{statistics.median(cell[0] for cell in groups[method, loss, back]):.4f}"

    def most(loss, back, *methods):
        return max(cell for method in methods for cell in groups[method, loss, back])

    networks = "CSBM", "α-CSBM"
    yield (
        MEASURED,
        (
            f"{median('DLightSB')} apart for DLightSB, "
            f"{median('DLightSB-M', 'kl')} for DLightSB-M, {median('CSBM', 'kl')} for CSBM "
            f"and {median('α-CSBM', 'kl')} for α-CSBM"
        ),
    )
    yield (
        CONTEST,
        (
            f"lie {median('DLightSB')} apart in conditional shape for DLightSB and "
            f"{median('CSBM', 'kl')} for CSBM"
        ),
    )
    bridges = max(most("", False, "DLightSB")[0], most("kl", False, "DLightSB-M")[0])
    worst, pair = most("kl", False, *networks)
    yield (
        MEASURED,
        (f"the most {bridges:.3f} for the first two, {worst:.3f} for the networks, on {pair}"),
    )
    yield (
        MEASURED,
        (
            f"{median('DLightSB-M', 'mse')}, {median('CSBM', 'mse')} and "
            f"{median('α-CSBM', 'mse')} "
            f"(the most of the networks {most('mse', False, *networks)[0]:.3f})"
        ),
    )
    low, _, high = sorted(cell[0] for cell in groups["DLightSB-M", "mse", False])[-3:]
    yield MEASURED, f"three cells whose trainings lie {low:.2f} to {high:.2f} apart"
    yield (
        MEASURED,
        (
            f"Of the reversed cells: {median('CSBM', 'kl', True)} for CSBM and "
            f"{median('α-CSBM', 'kl', True)} for α-CSBM "
            f"(the most {most('kl', True, *networks)[0]:.3f})"
        ),
    )


def updates(paper, _):
    """What the network solvers train on, ours and published, and what comes of it."""
    options = next(lines[0]["options"] for key, lines in paper.items() if key[0] == "CSBM")
    part = int(options["updates_first"]) / 60000
    assert part == int(options["updates_later"]) / 20000
    rows = part * int(options["points"])  # published: one point for each pair
    seconds = ends(
        [
            by_dim[64]
            for (method, _), by_dim in paper_cells.seconds_of_trainings().items()
            if method in ("CSBM", "α-CSBM")
        ],
        0,
    )
    counts = paper_cells.Counts(paper_cells.load())
    reached, judged = (
        sum(table[method, SHAPE] for method in ("CSBM", "α-CSBM"))
        for table in (counts.reached, counts.judged)
    )
    for page in (MEASURED, BENCHMARK):
        yield page, f"{100 * part:.0f} % of the published updates"
        yield page, f"{100 * rows:.0f} % of the published rows"
        yield page, f"{int(options['initial_pairs']):,} first pairs"
        yield page, f"{seconds[0]} to {seconds[1]} s at D = 64"
        yield page, f"{reached} of the {judged} cells"


def cells_reached(_, __):
    """Of the solvers that train; baselines have nothing to reach."""
    counts = paper_cells.Counts(paper_cells.load())
    reached, judged = counts.total()
    yield MEASURED, f"{reached} of {judged} cells of solvers that train"
    yield MEASURED, f"{100 * reached / judged:.1f} %"
    distances = counts.distances
    yield (
        MEASURED,
        (
            f"{statistics.median(distances):.3f} in the median of {len(distances)} cells, "
            f"{max(distances):.3f} at the most"
        ),
    )
    yield MEASURED, f"{counts.measured.total()} of {paper_cells.CELLS} cells are measured"


def skipped_lines():
    text = (ROOT / "results/csbm/skipped-step.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def published_networks(pair, steps):
    """(method, loss, score) -> the published cell of a pair and number of steps."""
    column = pair.removesuffix("-spread").replace("-", "_")
    with open(ROOT / "bridgemark/report/data/published.csv") as file:
        lines = [line for line in csv.DictReader(file) if line["table"] in SCORES]
    return {
        (line["method"], line["loss"], line["table"]): float(line[column])
        for line in lines
        if "CSBM" in line["method"] and line["steps"] == str(steps)
    }


def skipped_step(_, __):
    """Published cells above what the truth without its last step reaches."""
    gaps = [
        value - line["without"][score]
        for line in skipped_lines()
        for (*_, score), value in published_networks(line["pair"], line["num_steps"]).items()
    ]
    yield CORRECTIONS, f"{sum(gap > 0 for gap in gaps)} of the {len(gaps)} published cells"
    yield CORRECTIONS, f"by up to {max(gaps):.3f}"


def skipped_step_tables():
    """The fault alone: on one pair in all scores, on all Gaussian 0.05 pairs in one."""
    first = skipped_lines()[0]
    published = published_networks(first["pair"], first["num_steps"])
    head("score", "without the last step", "with it", "published, CSBM KL 16")
    for score, title in SCORES.items():
        values = first["without"][score], first["with"][score], published["CSBM", "KL", score]
        row(title, *(f"{value:.3f}" for value in values))
    print()
    solvers = [(method, loss) for method in ("CSBM", "alpha-CSBM") for loss in ("KL", "MSE")]
    head(
        "conditional shape",
        "steps",
        "without the last step",
        "with it",
        *(f"published, {method.replace('alpha', 'α')} {loss}" for method, loss in solvers),
    )
    for line in skipped_lines():
        published = published_networks(line["pair"], line["num_steps"])
        values = [
            line["without"][SHAPE],
            line["with"][SHAPE],
            *(published[(*solver, SHAPE)] for solver in solvers),
        ]
        row(line["pair"], str(line["num_steps"]), *(f"{value:.3f}" for value in values))


def recipe_scale(_, __):
    """How far the published recipe of DLightSB-M ends from the published cells, D = 16 and 64."""
    cells = [
        line
        for line in paper_cells.load()
        if line["method"] == "DLightSB-M" + PAPER
        and line["score"] == SHAPE
        and line["pair"] in SPREAD[4:]
    ]
    distances = [abs(float(line["mean"]) - float(line["published"])) for line in cells]
    yield CORRECTIONS, f"of the {len(cells)} cells of D = 16 and 64"
    yield CORRECTIONS, f"rises from {statistics.median(distances):.3f}"
    kl = statistics.median(float(line["mean"]) for line in cells if line["loss"] == "kl")
    yield CORRECTIONS, f"the median of the KL cells from {kl:.3f}"


def direction(_, families):
    """Who is near the truth forward and who in reverse, D = 16 and 64."""
    found = judge.Judge(families)
    pairs = {
        way: [pair for pair in judge.SPREAD[way] if not pair.startswith("d2-")]
        for way in judge.SPREAD
    }

    def values(name, way):
        return [found.value(name, pair) for pair in pairs[way]]

    static, network = values("DLightSB", "forward"), values("CSBM", "forward")
    yield (
        README,
        (
            f"| forward, p0 to p1 | at most {max(static):.3f} | "
            f"{min(network):.2f} to {max(network):.1f} |"
        ),
    )
    static, network = values("DLightSB", "reverse"), values("CSBM", "reverse")
    yield (
        README,
        (
            f"| reverse, p1 to p0 | {min(static):.2f} to {max(static):.1f} | "
            f"{min(network):.2f} to {max(network):.1f} |"
        ),
    )
    nearer = len(found.with_verdict("CSBM", "nearer", pairs["reverse"]))
    yield README, f"on {nearer} of the {len(pairs['reverse'])} pairs"


def beside_torch(_, __):
    """How much faster an update is than the same in PyTorch, on the same cores and GPU."""
    table = page_table(BENCH, "reference", "DLightSB ms, PyTorch")
    static, matching = (ends([float(line[column]) for line in table], 1) for column in (3, 6))
    yield (
        README,
        (
            f"{static[0]} to {static[1]} times as fast for DLightSB and "
            f"{matching[0]} to {matching[1]} times for DLightSB-M"
        ),
    )
    first = table[0]  # Gaussian 0.02
    yield README, f"| {first[1]} | {first[2]} |"
    yield README, f"| {first[4]} | {first[5]} |"
    times = []
    for update in page_table(BENCH, "update, K = 1000, S = 50"):
        if update[4]:
            ours, torch = float(update[1]), float(update[4])  # microseconds
            times.append(f"{torch / ours:.1f}")
            yield README, f"| {torch / 1000:.3f} | {ours / 1000:.3f} |"
    yield README, f"on the H200 it is {' and '.join(times)} times as fast"


CLAIMS = (
    family_results,
    networks,
    rows_claims.of_rows,
    fresh_instances,
    without_truth,
    nearest_bridges,
    few_rows,
    reading,
    dimension,
    loss_minimum,
    construction,
    published_recipe,
    spreads,
    updates,
    cells_reached,
    skipped_step,
    recipe_scale,
    direction,
    beside_torch,
)


def text_of(page):
    """Its words without line breaks; texts of a source file without the quotes that part them."""
    text = " ".join((ROOT / page).read_text().split())
    return text.replace('" "', "") if page.endswith(".cc") else text


NO_RESULT = re.compile(  # what has digits and states no result
    r"```.*?``` |\]\(\S*?\)|`[^`]*`|d\d+-(gaussian|uniform)-[\d.]+\S*|[xp][01]\b|instance 100\b"
    r"|\b[Dγ] = [\d.]+( and \d+)?|\b(300|30,000) rows\b"
)


def unheld(page, claims):
    """Numbers of a page that no claim holds, each with what is around it."""
    text = text_of(page)
    for words in sorted((words for where, words in claims if where == page), key=len)[::-1]:
        text = text.replace(words, "…")
    text = NO_RESULT.sub("…", text)
    return [text[max(0, at.start() - 40) : at.end() + 20] for at in re.finditer(r"\d[\d.,]*", text)]


def main():
    if sys.argv[1:] == ["tables"]:
        skipped_step_tables()
        return
    if sys.argv[1:] not in (["words"], ["words", "--check"]):
        sys.exit(__doc__)
    cells = measured("paper"), measured("families")
    claims = [claim for function in CLAIMS for claim in function(*cells)]
    if "--check" not in sys.argv:
        for page, words in claims:
            print(f"{page}: {words}")
        return
    texts = {page: text_of(page) for page, _ in claims}
    missing = [f"{page} should say: {words}" for page, words in claims if words not in texts[page]]
    missing += [f"{CONTEST}: no results hold the number of: {at}" for at in unheld(CONTEST, claims)]
    sys.exit("\n".join(missing) if missing else 0)


if __name__ == "__main__":
    main()
