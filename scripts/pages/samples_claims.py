"""What pages say of bridges and networks on n rows, for claims.py.

Each function of CLAIMS gets the Results of experiments/samples.toml and yields (page, words) as
those of claims.py do.
"""

import math

from samples import BASELINES, BRIDGES, best_of, dim_of, direction_of, family_of, slope

SAMPLES, CONTEST, README = "results/samples/README.md", "docs/contest.md", "README.md"
FAR_CHAIN = "d64-uniform-0.005-chain"  # on which CSBM gains least from rows


def fitting(pair):
    """The bridge whose form the truth of a forward pair has."""
    return "dlightsb-chain" if family_of(pair) == "chain" else "dlightsb"


def forward(results):
    return [pair for pair in results.grid.pairs if direction_of(pair) == "forward"]


def of_form(results, n, *dims):
    """The smallest and the largest joint KL of a bridge whose form fits."""
    values = [
        results.mean((pair, fitting(pair), n)) for pair in forward(results) if dim_of(pair) in dims
    ]
    return min(values), max(values)


def of_better(results, n, direction):
    """The smallest joint KL of the better bridge, the largest, and the pair of the latter."""
    values = {
        pair: min(results.mean((pair, solver, n)) for solver in BRIDGES)
        for pair in results.grid.pairs
        if direction_of(pair) == direction
    }
    worst = max(values, key=values.get)
    return min(values.values()), values[worst], worst


def rows_needed(curve, value):
    """The number of rows at which a curve has this value, a straight line between logarithms; None
    where it lies outside."""
    sizes = list(curve)
    for n, after in zip(sizes, sizes[1:]):
        if curve[n] >= value >= curve[after]:
            way = math.log(curve[n] / value) / math.log(curve[n] / curve[after])
            return n * (after / n) ** way
    return None


def rates(results):
    """How near a bridge of the truth's form is, and how fast it comes nearer."""
    low16, high16 = of_form(results, 300, 16)
    low64, high64 = of_form(results, 300, 64)
    words = f"{low16:.1f} to {high16:.1f} nats"
    yield (
        README,
        f"is {words} away at D = 16 and {low64:.1f} to {high64:.1f} at D = 64",
    )
    yield (
        CONTEST,
        f"within {words} at 300 rows and D = 16, within {low64:.1f} to {high64:.1f} at D = 64",
    )
    slopes = sorted(float(slope(results.curve(pair, fitting(pair)))) for pair in forward(results))
    power = f"n to the power of −{-slopes[-1]:.1f} to −{-slopes[0]:.1f}"
    for page in (README, CONTEST, SAMPLES):
        yield page, power
    low, high = of_form(results, 30000, 16)
    yield SAMPLES, f"from {words} with 300 rows to {low:.3f} to {high:.3f} with 30,000"
    low, high = of_form(results, 30000, 64)
    yield (
        SAMPLES,
        f"at D = 64 from {low64:.1f} to {high64:.1f} nats to {low:.3f} to {high:.2f}",
    )
    low, high = of_form(results, 300, 16, 64)
    least, most = of_form(results, 30000, 16, 64)
    yield (
        CONTEST,
        (
            f"is {low:.1f} to {high:.1f} nats away with 300 of them and {least:.3f} to "
            f"{most:.2f} with 30,000"
        ),
    )


def leaders(results):
    """Who has the lowest joint KL, alone or with others."""
    best = [best_of(results, pair, n) for pair in results.grid.pairs for n in results.grid.sizes]
    led = sum(not set(names).isdisjoint(BRIDGES) for names in best)
    assert len(best) - led == 1 and ["dlightsb-m"] in best
    assert not any(baseline in names for names in best for baseline in BASELINES)
    yield CONTEST, f"leads or ties in {led} of {len(best)} cells of pair and n; DLightSB-M"
    yield SAMPLES, "but for one cell that goes to DLightSB-M"


def choice(results):
    """The rows of the table that says which solver to take."""
    better = "the better of `dlightsb` and `dlightsb-chain` by held-out rows"
    for n in (300, 30000):
        for direction, asked, how in (
            ("forward", "x1 given x0", ""),
            ("reverse", "x0 given x1", ", trained from x1"),
        ):
            low, high, pair = of_better(results, n, direction)
            words = f"{n:,} rows | {asked} | {better}{how} | {low:.2g} to {high:.2g} | {pair}"
            yield CONTEST, f"| {words} |"


def networks(results):
    """How many times the rows CSBM needs for the distance of a bridge whose form fits."""
    needed = {}
    for pair in forward(results):
        bridge = results.curve(pair, fitting(pair))
        for n, value in results.curve(pair, "csbm").items():
            if (rows := rows_needed(bridge, value)) is not None:
                needed[pair, n] = rows
    far = needed.pop((FAR_CHAIN, 30000))
    assert FAR_CHAIN not in {pair for pair, _ in needed}
    factors = [n / rows for (_, n), rows in needed.items()]
    words = f"CSBM needs {min(factors):.0f} to {max(factors):.0f} times the rows of the bridge"
    for page in (README, CONTEST):
        yield page, words
    yield (
        CONTEST,
        (
            f"on {FAR_CHAIN} it is with 30,000 rows where DLightSB-chain is with "
            f"{float(f'{far:.2g}'):.0f}"
        ),
    )


def open_on_rows(results):
    """What few rows leave open, and DLightSB-chain on many."""
    _, most, pair = of_better(results, 300, "forward")
    yield CONTEST, f"| 300 rows in 64 dimensions | {most:.1f} | {pair} |"
    static, chain = (results.mean((pair, solver, 30000)) for solver in BRIDGES)
    words = f"on 30,000 rows, where it starts once and DLightSB has {static:.2f}"
    yield CONTEST, f"| DLightSB-chain {words} | {chain:.1f} | {pair} |"
    _, most, pair = of_better(results, 30000, "reverse")
    _, near = of_form(results, 30000, 16)
    near = results.mean((pair.removesuffix("-reverse"), "dlightsb", 30000))
    yield CONTEST, f"reverse from 30,000 rows, trained from x1 (forward {near:.3f})"
    yield CONTEST, f"turned round it was not measured | {most:.1f} | {pair} |"


CLAIMS = (rates, leaders, choice, networks, open_on_rows)
