"""What docs/contest.md and results/judge/README.md say of the networks, for claims.py.

Each function of CLAIMS gets a Judge and yields (page, words) as those of claims.py do.
"""

from contest import CLOSED, SHAPE
from judge import AUC, FORWARD, NETWORKS, OTHERS, PAIRS, PATH, REVERSE, SMALL, SPREAD, STEPS

CONTEST, JUDGE = "docs/contest.md", "results/judge/README.md"


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
    yield CONTEST, f"nearer than every bridge on {len(on_spread)} of the {len(high)} pairs**"
    yield CONTEST, f"the same {len(on_spread)}."
    yield CONTEST, f"These are all of the {len(spread)} spread cells"
    low, most = extremes(found.times("DLightSB-chain", nearer))
    yield JUDGE, f"is {low:.1f} to {most:.0f} times as far from the truth there"
    for bridge, words in (
        ("DLightSB-chain", "DLightSB-chain, the next, is"),
        ("DLightSB", "DLightSB"),
    ):
        low, most = extremes(found.times(bridge, on_spread))
        yield CONTEST, f"{words} {low:.1f} to {most:.0f} times"
    low, most = extremes([found.value("CSBM", pair) for pair in on_spread])
    yield CONTEST, f"{low:.3f} to {most:.2f} nats from the truth at the most"
    low, most = extremes(found.times("DLightSB-chain", on_sphere))
    yield CONTEST, f"the nearest bridge is {most:.0f} and {low:.0f} times as far"
    times = extremes(found.times("α-CSBM", PAIRS))
    assert times[0] > 1
    yield JUDGE, (f"on all {len(PAIRS)} cells, {times[0]:.1f} to {times[1]:.1f} times as high")


def network_distances(found):
    """CSBM's joint KL on single pairs, beside the bridges."""
    low, most = extremes([found.value("CSBM", pair) for pair in SPREAD["forward"]])
    yield CONTEST, f"at most {low:.3f} to {most:.2f} nats away"
    behind = [
        pair for pair in SPREAD["forward"] if found.verdict("CSBM", "DLightSB", pair) == "farther"
    ]
    assert len(behind) == 11 and "d16-gaussian-0.02-spread" not in behind
    yield CONTEST, "CSBM is behind DLightSB on eleven pairs"
    flat = [pair for pair in SPREAD["reverse"] if pair.startswith("d2-")]
    yield CONTEST, f"within {max(found.value('DLightSB', pair) for pair in flat):.4f} nats"

    def values(pair, *names, digits=2):
        return [f"{found.value(name, pair):.{digits}f}" for name in names]

    pair = "d16-gaussian-0.05-spread-reverse"
    network, static, chain = values(pair, "CSBM", "DLightSB", "DLightSB-chain", digits=3)
    assert found.verdict("CSBM", "DLightSB", pair) == "nearer"
    assert found.verdict("CSBM", "DLightSB-chain", pair) == "farther"
    yield (
        CONTEST,
        (
            f"CSBM (at most {network}) is nearer than DLightSB ({static}), and "
            f"DLightSB-chain ({chain})"
        ),
    )
    narrow = {
        dim: [f"d{dim}-gaussian-0.02{family}-reverse" for family in ("", "-spread")]
        for dim in (16, 64)
    }
    chain = extremes([found.value("DLightSB-chain", pair) for pair in sum(narrow.values(), [])])
    yield CONTEST, f"{chain[0]:.1f} to {chain[1]:.1f} nats away. CSBM is not"
    at = {dim: [values(pair, "CSBM")[0] for pair in pairs] for dim, pairs in narrow.items()}
    yield (
        CONTEST,
        (f"at most {' and '.join(at[16])} nats at D = 16, {' and '.join(at[64])} at D = 64"),
    )
    (network,) = values(narrow[16][0], "CSBM")
    bridges = values(narrow[16][0], "DLightSB-chain", "DLightSB", "DLightSB-M", digits=1)
    yield (
        CONTEST,
        (
            f"At D = 16 CSBM is at most {network} nats away, DLightSB-chain {bridges[0]}, "
            f"DLightSB {bridges[1]} and DLightSB-M {bridges[2]}"
        ),
    )
    fitting = [pair for pair in OTHERS if "twosided" in pair]
    most = max(found.value("CSBM", pair) for pair in fitting)
    yield CONTEST, f"CSBM stays within {most:.2f} nats"
    (back,) = values("d64-gaussian-0.05-spread-reverse", "CSBM")
    yield CONTEST, f"CSBM at {back} at the most"


def networks_on_chains(found):
    """CSBM and solvers with a wrong form on chain pairs."""
    pairs = [f"d{dim}-gaussian-0.02-chain{end}" for dim in (16, 64) for end in ("", "-reverse")]
    verdicts = [found.verdict("CSBM", "DLightSB", pair) for pair in pairs]
    assert verdicts == ["farther", "farther", "nearer", "open"]
    names = "CSBM", "DLightSB", "Feature-wise SB"
    forth, back = ([found.value(name, pair) for name in names] for pair in pairs[2:])
    yield (
        CONTEST,
        (
            f"at most {forth[0]:.2f} nats away where DLightSB loses {forth[1]:.2f} and "
            f"Feature-wise SB {forth[2]:.2f}"
        ),
    )
    shares = [f"{found.share(name, pairs[2]):.2f}" for name in names]
    yield CONTEST, f"(shares {shares[0]}, {shares[1]} and {shares[2]})"
    yield CONTEST, f"the three are within {max(back) - min(back):.2f} nats"
    chain = [found.value("DLightSB-chain", pair) for pair in pairs[2:]]
    yield CONTEST, f"DLightSB-chain is at {chain[0]:.4f} and {chain[1]:.3f}"
    most = max(found.value("CSBM", pair) for pair in OTHERS if "chain" in pair)
    yield CONTEST, f"CSBM at most {most:.1f} on the pairs of one reference"
    yield CONTEST, f"what keeps CSBM {forth[0]:.2f} nats from the truth"
    sampler = found.sampler[pairs[2], STEPS]["joint_kl"][0]
    yield CONTEST, f"costs at most {sampler:.3f} of them"
    yield JUDGE, f"where it is {forth[1] - forth[0]:.2f} nats nearer"


def particles(found):
    """How far the bounds have settled."""
    spread = sum(SPREAD.values(), [])
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
    settled = sum(halved["CSBM", pair] < SMALL for pair in spread)
    yield (
        CONTEST,
        (
            f"less than {SMALL} nats on {settled} of the {len(spread)}, and by "
            f"{csbm} on d64-gaussian-0.02-spread"
        ),
    )
    back = max(halved[name, pair] for name in NETWORKS for pair in REVERSE)
    yield JUDGE, f"On reversed pairs it changes them by {back:.3f} nats at the most"
    back = max(halved["CSBM", pair] for pair in SPREAD["reverse"])
    yield CONTEST, f"on reversed pairs by {back:.3f} at the most"


def sampler_parts(found):
    """What of CSBM's distance the sampler alone has."""
    parts = {pair: found.sampler_part(pair) for pair in FORWARD}
    uniform = [parts.pop(f"d2-uniform-{gamma}-spread") for gamma in ("0.005", "0.01")]
    words = f"{uniform[0]:.2f} and {uniform[1]:.2f}"
    most = f"{max(parts.values()):.2f} at the most"
    yield JUDGE, f"most of CSBM's distance is the sampler's**: {words} of it"
    yield JUDGE, f"Everywhere else it is {most}"
    yield CONTEST, f"The sampler alone has {words} of its distance on the uniform pairs of D = 2"
    yield CONTEST, f"{most} elsewhere"
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
    names = {JUDGE: "AUC", CONTEST: "classifier's AUC"}
    for page in names:
        yield (
            page,
            (
                f"the trajectory KL turns {path} around, the conditional shape {shape} "
                f"and the {names[page]} {auc}"
            ),
        )
    nearer = found.with_verdict("CSBM", "nearer", PAIRS)
    assert not any(found.value("CSBM", pair, PATH) for pair in nearer)
    yield JUDGE, f"all {len(nearer)} pairs where CSBM is nearer than every bridge"
    pair = "d64-gaussian-0.02-spread-reverse"
    assert {bridge for where, bridge in counts[AUC][1] if where == pair} == set(CLOSED)
    least = min(-found.gap("CSBM", bridge, pair)[0] for bridge in CLOSED)
    yield JUDGE, f"at least {least:.1f} nats nearer than each"
    yield CONTEST, f"Four of the {len(counts[AUC][1])}"
    yield CONTEST, f"nearer by {least:.1f} nats or more"


CLAIMS = (
    nearer_networks,
    network_distances,
    networks_on_chains,
    particles,
    sampler_parts,
    stand_ins,
)
