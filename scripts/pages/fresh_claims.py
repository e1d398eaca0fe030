"""What docs/contest.md and results/fresh/README.md say of fresh instances, for claims.py.

Each function of CLAIMS gets a Fresh and yields (page, words) as those of claims.py do.
"""

import statistics

from families import SHAPE
from families_claims import LOST
from fresh import FAR, LIMIT, RESOLVED, SOLVERS
from samples import dim_of, family_of
from samples_grid import KL

CONTEST, FRESH = "docs/contest.md", "results/fresh/README.md"
CHAIN = "DLightSB-chain"
NARROW = "gaussian-0.02"


def times(fresh, name, score=KL):
    """How many times the presets' mean distance, at D = 16 and at D = 64."""
    return [fresh.times(name, dim, score) for dim in fresh.dims()]


def means(fresh, name, dim, score=KL):
    """On the presets and on their instances."""
    return fresh.comparison(name, fresh.compared(name, dim), score).means()


def holds(fresh):
    """Solvers whose mean joint KL is that of the presets."""
    assert {name for name, _ in fresh.named()} == {CHAIN}
    texts = {
        name: "{:.2f} and {:.2f}".format(*times(fresh, name))
        for name in ("DLightSB", "DLightSB-M", "CSBM", "α-CSBM")
    }
    yield (
        FRESH,
        (
            f"**DLightSB, DLightSB-M, CSBM and α-CSBM stay within {LIMIT} times the presets' "
            f"distance**: {texts['DLightSB']} times as far for DLightSB, {texts['DLightSB-M']} "
            f"for DLightSB-M, {texts['CSBM']} for CSBM and {texts['α-CSBM']} for α-CSBM"
        ),
    )
    yield FRESH, f"more than {LIMIT} times as far"
    yield (
        CONTEST,
        (
            f"DLightSB's mean joint KL is {texts['DLightSB']} times that of the presets, "
            f"DLightSB-M's {texts['DLightSB-M']}, CSBM's {texts['CSBM']} and α-CSBM's "
            f"{texts['α-CSBM']}"
        ),
    )
    hardest = "d16-gaussian-0.02-spread"
    lines = [fresh.line("CSBM", pair) for pair in fresh.instances["CSBM", hardest]]
    values = [f"{line['value']:.2f}" for line in lines]
    base = fresh.line("CSBM", hardest)["value"]
    halved = [line["half_particles_change"] for line in lines]
    yield (
        FRESH,
        (
            f"CSBM's bound is {values[0]}, {values[1]} and {values[2]} where the preset's is "
            f"{base:.2f}"
        ),
    )
    yield FRESH, f"half the particles would add {min(halved):.2f} to {max(halved):.2f}"
    others = [preset for preset in fresh.compared("CSBM", 16) if preset != hardest]
    rest = fresh.comparison("CSBM", others).times()
    yield FRESH, f"on the other pairs of D = 16 it is {rest:.2f} times as far"


def chain_flattered(fresh):
    """DLightSB-chain by its mean, its median and the instances behind them."""
    assert fresh.named() == [(CHAIN, 16), (CHAIN, 64)]
    (before16, now16), (before64, now64) = (means(fresh, CHAIN, dim) for dim in (16, 64))
    words = (
        f"{now16:.3f} nats in place of {before16:.4f} at D = 16, "
        f"{now64:.2f} in place of {before64:.3f} at D = 64"
    )
    factors = "{:.1f} and {:.1f} times".format(*times(fresh, CHAIN))
    yield (
        "CHANGELOG.md",
        "{:.1f} times as far at D = 16 and {:.1f} times at D = 64".format(*times(fresh, CHAIN)),
    )
    yield FRESH, words
    yield FRESH, factors
    yield CONTEST, f"DLightSB-chain was {factors} as far"
    medians = [fresh.comparison(CHAIN, fresh.compared(CHAIN, dim)).medians() for dim in (16, 64)]
    assert all(now < before for before, now in medians)
    texts = [f"{now:.4f} in place of {before:.4f}" for before, now in medians]
    yield FRESH, f"the medians are {texts[0]} and {texts[1]}"

    far = [pair for dim in (16, 64) for pair in fresh.far(CHAIN, dim)]
    runs = sum(fresh.comparison(CHAIN, fresh.compared(CHAIN, dim)).runs for dim in (16, 64))
    yield FRESH, f"{len(far)} of its {runs} instances"
    yield FRESH, f"more than {FAR} nats farther than their presets"
    left = [fresh.without_far(CHAIN, dim).means() for dim in (16, 64)]
    yield (
        FRESH,
        (
            f"without them its means are {left[0][1]:.4f} in place of {left[0][0]:.4f} and "
            f"{left[1][1]:.3f} in place of {left[1][0]:.3f}"
        ),
    )

    rivals = [
        preset
        for dim in (16, 64)
        for preset in fresh.compared(CHAIN, dim)
        if family_of(preset) != "chain"
    ]
    pairs = [pair for preset in rivals for pair in fresh.instances[CHAIN, preset]]
    lost = [pair for pair in pairs if fresh.line(CHAIN, pair)["value"] > LOST]
    values = [fresh.line(CHAIN, pair)["value"] for pair in lost]
    worst = max(fresh.line("DLightSB", pair)["value"] for pair in lost)
    assert not any("twosided" in pair for pair in lost)
    yield (
        FRESH,
        f"{len(lost)} of {len(pairs)} end {min(values):.2f} to {max(values):.1f} nats away",
    )
    yield FRESH, f"(DLightSB at most {worst:.3f})"
    elsewhere = [pair for pair in lost if NARROW not in pair]
    assert elsewhere == [
        "d16-gaussian-0.05-spread-i100",
        "d64-gaussian-0.05-spread-i100",
        "d64-uniform-0.01-spread-i100",
    ]
    assert len(lost) - len(elsewhere) == 9
    texts = [f"{pair} ({fresh.line(CHAIN, pair)['value']:.2f})" for pair in elsewhere]
    most = max(fresh.line(CHAIN, pair.removesuffix("-i100"))["value"] for pair in elsewhere)
    yield FRESH, f"{texts[0]}, {texts[1]} and {texts[2]}, whose presets are within {most:.3f}"


def by_shape(fresh):
    """What the conditional shape says otherwise."""
    above = {
        (name, dim): fresh.times(name, dim, SHAPE)
        for name in SOLVERS
        for dim in fresh.dims()
        if (fresh.times(name, dim, SHAPE) or 0) > LIMIT
    }
    assert list(above) == [("DLightSB", 16), (CHAIN, 64)]
    noise = [
        fresh.presets[key][0]["value"] - lines[0]["value"]
        for key, lines in fresh.paper.items()
        if key[0] == "Oracle"
        and key[4] == SHAPE
        and dim_of(key[3]) in fresh.dims()
        and not key[3].endswith("-reverse")
    ]
    yield (
        FRESH,
        (
            f"below {RESOLVED} has no ratio: two evaluations of the Oracle itself differ by "
            f"{statistics.stdev(noise):.4f}"
        ),
    )
    before, now = means(fresh, "DLightSB", 16, SHAPE)
    yield (
        FRESH,
        (
            f"DLightSB is {above['DLightSB', 16]:.1f} times as far at D = 16, {now:.4f} in "
            f"place of {before:.4f}"
        ),
    )
    preset = "d16-gaussian-0.02-chain"
    values = fresh.found("DLightSB", preset, SHAPE)
    base = fresh.distance(fresh.presets, "DLightSB", preset, SHAPE)
    yield FRESH, f"{min(values):.3f} to {max(values):.3f} below the Oracle, the preset {base:.3f}"
    others = [other for other in fresh.compared("DLightSB", 16) if other != preset]
    rest = fresh.comparison("DLightSB", others, SHAPE).means()
    yield FRESH, f"without that pair the means are {rest[1]:.4f} and {rest[0]:.4f}"
    before, now = means(fresh, CHAIN, 64, SHAPE)
    yield (
        FRESH,
        (
            f"DLightSB-chain {above[CHAIN, 64]:.1f} times at D = 64, {now:.4f} in place of "
            f"{before:.4f}"
        ),
    )
    before, now = means(fresh, CHAIN, 16, SHAPE)
    yield FRESH, f"at D = 16 {now:.4f} in place of {round(before, 4) + 0.0:.4f}"


def spreads(fresh):
    """Spread over instances beside spread over trainings, on spread pairs."""

    def pooled(name, dim, score):
        presets = fresh.compared(name, dim, "spread")
        return (fresh.deviation(name, presets, score), fresh.trainings(name, presets, score))

    texts = ["{:.4f} and {:.4f}".format(*pooled("DLightSB", dim, KL)) for dim in (16, 64)]
    yield FRESH, f"DLightSB's joint KL {texts[0]} at D = 16, {texts[1]} at D = 64"
    factors = [
        instances / trainings
        for name in ("CSBM", "α-CSBM")
        for dim in (16, 64)
        for instances, trainings in [pooled(name, dim, SHAPE)]
    ]
    yield FRESH, f"{min(factors):.1f} to {max(factors):.1f} times as far apart as trainings"


def unlike_presets(fresh):
    """A preset that is unlike its instances."""
    preset = "d64-gaussian-0.02-spread"
    values = fresh.found("Feature-wise SB", preset)
    base = fresh.line("Feature-wise SB", preset)["value"]
    yield (
        FRESH,
        (
            f"{base:.1f} nats on the preset and {min(values):.0f} to {max(values):.0f} on its "
            "instances"
        ),
    )


CLAIMS = (
    holds,
    chain_flattered,
    by_shape,
    spreads,
    unlike_presets,
)
