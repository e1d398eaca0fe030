"""What results/judge/README.md says of the networks, for claims.py.

Each function of CLAIMS gets a Judge and yields (page, words) as those of claims.py do.
"""

from families import CLOSED, SHAPE
from judge import AUC, FORWARD, NETWORKS, PAIRS, PATH, REVERSE, SMALL, SPREAD

JUDGE = "results/judge/README.md"


def extremes(values):
    return min(values), max(values)


def nearer_networks(found):
    """Where CSBM's bound lies below every bridge, and where it does not."""
    spread = sum(SPREAD.values(), [])
    nearer, farther, still_open = (
        found.with_verdict("CSBM", word, PAIRS) for word in ("nearer", "farther", "open")
    )
    assert nearer == found.with_verdict("α-CSBM", "nearer", PAIRS)
    on_spread = [pair for pair in nearer if pair in spread]
    high = [pair for pair in SPREAD["reverse"] if not pair.startswith("d2-")]
    assert set(on_spread) <= set(high) and still_open == ["d16-gaussian-0.02-spread"]
    assert {found.nearest(pair) for pair in nearer} == {"DLightSB-chain"}
    on_sphere = [pair for pair in nearer if pair not in spread]
    assert on_sphere == ["d16-gaussian-0.02-reverse", "d64-gaussian-0.02-reverse"]
    yield JUDGE, f"on {len(nearer)} of the {len(PAIRS)} cells**"
    yield JUDGE, f"on {len(on_spread)} of the {len(spread)} spread ones"
    yield JUDGE, f"nearer than every bridge on the same {len(nearer)}."
    yield JUDGE, f"**It is farther on {len(farther)}**"
    low, most = extremes(found.times("DLightSB-chain", nearer))
    yield JUDGE, f"is {low:.1f} to {most:.0f} times as far from the truth there"
    times = extremes(found.times("α-CSBM", PAIRS))
    assert times[0] > 1
    yield JUDGE, (f"on all {len(PAIRS)} cells, {times[0]:.1f} to {times[1]:.1f} times as high")


def networks_on_chains(found):
    """CSBM and solvers with a wrong form on chain pairs."""
    pairs = [f"d{dim}-gaussian-0.02-chain{end}" for dim in (16, 64) for end in ("", "-reverse")]
    verdicts = [found.verdict("CSBM", "DLightSB", pair) for pair in pairs]
    assert verdicts == ["farther", "farther", "nearer", "open"]
    gap = found.value("DLightSB", pairs[2]) - found.value("CSBM", pairs[2])
    yield JUDGE, f"where it is {gap:.2f} nats nearer"


def particles(found):
    """How far the bounds have settled."""
    halved = {(name, pair): found.halved(name, pair) for pair in PAIRS for name in NETWORKS}
    large = {key: f"{value:.3f}" for key, value in halved.items() if value >= SMALL}
    assert list(large) == [
        ("α-CSBM", "d16-gaussian-0.02-spread"),
        ("CSBM", "d64-gaussian-0.02-spread"),
        ("α-CSBM", "d64-gaussian-0.02-spread"),
    ]
    first, csbm, last = large.values()
    yield JUDGE, f"changes {len(halved) - len(large)} of the {len(halved)} bounds by less than"
    yield (
        JUDGE,
        (
            f"CSBM's on d64-gaussian-0.02-spread ({csbm}) and α-CSBM's on "
            f"d16-gaussian-0.02-spread ({first}) and d64-gaussian-0.02-spread ({last})"
        ),
    )
    back = max(halved[name, pair] for name in NETWORKS for pair in REVERSE)
    yield JUDGE, f"On reversed pairs it changes them by {back:.3f} nats at the most"


def sampler_parts(found):
    """What of CSBM's distance the sampler alone has."""
    parts = {pair: found.sampler_part(pair) for pair in FORWARD}
    uniform = [parts.pop(f"d2-uniform-{gamma}-spread") for gamma in ("0.005", "0.01")]
    words = f"{uniform[0]:.2f} and {uniform[1]:.2f}"
    most = f"{max(parts.values()):.2f} at the most"
    yield JUDGE, f"most of CSBM's distance is the sampler's**: {words} of it"
    yield JUDGE, f"Everywhere else it is {most}"
    most = max(part for pair, part in parts.items() if pair.startswith("d64-"))
    yield JUDGE, f"at D = 64 {most:.2f} at the most"
    above = sum(found.value("CSBM", pair) > found.value("CSBM", pair, PATH) for pair in FORWARD)
    yield JUDGE, f"on {above} of the {len(FORWARD)} forward pairs"
    beyond = [gap for gap in map(found.beyond_path, FORWARD) if gap[0] > 0]
    assert all(gap < 2 * error for gap, error in beyond)
    yield JUDGE, f"whole paths on {len(beyond)}, by less than two standard errors"


def stand_ins(found):
    """Comparisons of CSBM with a bridge that another score turns around."""
    counts = {score: found.overruled(score, PAIRS) for score in (PATH, SHAPE, AUC)}
    path, shape, auc = (f"{len(turned)} of {decided}" for decided, turned in counts.values())
    yield (
        JUDGE,
        (f"the trajectory KL turns {path} around, the conditional shape {shape} and the AUC {auc}"),
    )
    nearer = found.with_verdict("CSBM", "nearer", PAIRS)
    assert not any(found.value("CSBM", pair, PATH) for pair in nearer)
    yield JUDGE, f"all {len(nearer)} pairs where CSBM is nearer than every bridge"
    pair = "d64-gaussian-0.02-spread-reverse"
    assert {bridge for where, bridge in counts[AUC][1] if where == pair} == set(CLOSED)
    least = min(-found.gap("CSBM", bridge, pair)[0] for bridge in CLOSED)
    yield JUDGE, f"at least {least:.1f} nats nearer than each"


CLAIMS = (
    nearer_networks,
    networks_on_chains,
    particles,
    sampler_parts,
    stand_ins,
)
