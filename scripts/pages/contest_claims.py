"""What docs/contest.md says of which solver is near which pair, for claims.py.

Each function of CLAIMS gets Findings and yields (page, words) as those of claims.py do.
samples_claims.py and fresh_claims.py have its words on n rows and on fresh instances.
"""

import collections

import contest
import fresh
import frontier
import judge
import proxies_cells
from families_claims import ALL
from frontier import INSTANCE, STARTS, nats, pairs_of
from frontier_claims import BEHIND
from judge import PAIRS, STEPS
from proxies import agreement
from result_tables import NETWORKS, both_ways, study_lines
from samples import family_of

CONTEST = "docs/contest.md"
WAYS = ("forward", "reverse")
NARROW, WIDE = "128,128,128", "512,512,512"  # hidden layers
HARDEST = "d64-gaussian-0.02-spread"  # for bridges and for networks


class Findings:
    """Everything that the page reads."""

    def __init__(self, families, paper):
        self.families, self.paper = families, paper
        self.frontier = frontier.Frontier(families)
        self.judge = judge.Judge(families)
        self.fresh = fresh.Fresh(families, paper)

    def nearest(self, instance, direction):
        """Pair -> the joint KL of its nearest bridge."""
        return {pair: self.frontier.best(pair, direction) for pair in pairs_of(instance)}

    def largest_of(self, solver, key, *families):
        """Over presets of these families: the value and its pair."""
        return max(
            (self.frontier.run(pair, solver)[key][0], pair) for pair in pairs_of(families=families)
        )


def extremes(values):
    values = list(values)
    return min(values), max(values)


def in_short(found):
    """The first paragraph."""
    counts, most = [], []
    for instance in ("", INSTANCE):
        values = [value for way in WAYS for value in found.nearest(instance, way).values()]
        counts.append(len(values))
        most.append(max(values))
    yield (
        CONTEST,
        (
            f"on each of the {counts[0]} presets and directions some bridge is within "
            f"{most[0]:.4f} nats of the truth, on each of the {counts[1]} of instance 100, which "
            f"no recipe was chosen on, within {most[1]:.4f}"
        ),
    )
    low, high = extremes(found.judge.value("CSBM", pair) for pair in PAIRS)
    yield (
        CONTEST,
        (
            f"its upper bound lies above the nearest bridge on all {len(PAIRS)} pairs on which it "
            f"was measured, at {low:.4f} to {high:.2f} nats"
        ),
    )


def choice(found):
    """The rows of endless draws in the table that says which solver to take."""
    one_form = "sphere", "spread", "chain"

    def ends(value, pair):
        return f"at most {value:.4f} | {pair} |"

    every = found.largest_of("dlightsb-chain", "forward", *one_form, "twosided")
    yield CONTEST, f"`dlightsb-chain` | {ends(*every)}"
    mixtures = found.largest_of("dlightsb", "forward", "sphere", "spread", "twosided")
    yield CONTEST, f"in place of three | {ends(*mixtures)}"
    value, pair = found.largest_of("dlightsb-chain", "reverse_bound", *one_form)
    yield CONTEST, f"#a-fitted-bridge-answers-both-ways) | {ends(value, pair + '-reverse')}"
    trained = {
        pair: found.judge.cells["DLightSB-chain", "", "", pair + "-reverse", "joint_kl"][0]["value"]
        for pair in pairs_of(families=("twosided",))
    }
    pair = max(trained, key=trained.get)
    yield CONTEST, f"(`direction=reverse`) | {ends(trained[pair], pair + '-reverse')}"
    low, _ = extremes(found.judge.value("CSBM", pair) for pair in PAIRS)
    worst = max(PAIRS, key=lambda pair: found.judge.value("CSBM", pair))
    high = found.judge.value("CSBM", worst)
    yield CONTEST, f"`csbm`, {STEPS} steps, KL loss | at most {low:.4f} to {high:.2f} | {worst} |"
    assert min(found.judge.times("α-CSBM", PAIRS)) > 1
    yield CONTEST, f"farther than `csbm` by its bound on all {len(PAIRS)} pairs"
    yield CONTEST, f"[none of the {len(ALL)}]"  # families_claims.py holds that it is none


def turned_round(found):
    """Bridges that answer in reverse after a training forward."""
    values = found.frontier
    yield CONTEST, f"The dotted line is at {frontier.NEAR} nats"
    for words in contest.rows(values):
        yield CONTEST, f"| {' | '.join(words)} |".replace("|  |", "| |")
    static, _ = found.largest_of("dlightsb", "reverse_bound", "sphere", "spread")
    chain = max(map(values.best_turned, pairs_of(families=("chain",))))
    yield CONTEST, f"at most {static:.4f} nats away, on chain pairs {chain:.4f}"
    trained = max(
        values.trained_from_p1(pair)[0] for pair in pairs_of(families=("sphere", "spread"))
    )
    yield CONTEST, f"the nearest bridge is up to {trained:.1f} nats away"
    measured = {pair.removesuffix("-reverse"): found for pair, found in values.turned.items()}
    assert len(measured) == 8
    assert all(
        value < values.run(pair, "dlightsb")["reverse_bound"][0]
        for pair, (value, _) in measured.items()
    )
    low, high = extremes(value for value, _ in measured.values())
    yield CONTEST, f"lie below their bounds, at {low:.4f} to {high:.4f} nats"
    twosided = max(map(values.best_turned, pairs_of(families=("twosided",))))
    yield CONTEST, f"the nearer of the two is up to {nats(twosided)} nats away"
    least = [
        min(
            values.run(pair, solver)["acceptance"]["overall"]
            for pair in pairs_of(instance)
            for solver in frontier.SOLVERS
        )
        for instance in ("", INSTANCE)
    ]
    yield (
        CONTEST,
        (
            f"on every preset of a family at least {least[0]:.2g} of the proposals are kept, "
            f"on instance 100 {least[1]:.2g}"
        ),
    )


def chain_starts(found):
    """What DLightSB-chain chooses among."""
    pairs = pairs_of() + pairs_of(INSTANCE)
    runs = [found.frontier.run(pair, "dlightsb-chain") for pair in pairs]
    kept = collections.Counter(STARTS[run["start"]] for run in runs)
    yield (
        CONTEST,
        (
            f"It kept the first on {kept['samples']} of {len(pairs)} pairs, the second on "
            f"{kept['both']} and the mixture on {kept['mixture']}"
        ),
    )
    yield CONTEST, f"more than {BEHIND} nats farther than DLightSB"  # frontier_claims.py holds it
    lost = [HARDEST, "d64-gaussian-0.02-i100"]
    values = [found.fresh.line("DLightSB-chain", pair)["value"] for pair in lost]
    yield CONTEST, f"{values[0]:.2f} nats on {lost[0]}, {values[1]:.1f} on {lost[1]}"
    low, high = extremes(
        found.frontier.run(pair, "dlightsb")["forward"][0]
        for pair in pairs_of(dims=(16, 64), families=("chain",))
        + pairs_of(INSTANCE, families=("chain",))
    )
    yield CONTEST, f"where DLightSB loses {low:.2f} to {high:.0f} nats from D = 16 on"


def networks(found):
    """CSBM beside the bridges, in nats."""
    values = found.judge
    particles = {values.line("CSBM", pair)["particles"] for pair in PAIRS}
    yield CONTEST, f"an upper bound** by {' or '.join(map(str, particles))} particles"
    nearer = values.with_verdict("CSBM", "nearer", PAIRS)
    assert all(pair.endswith("-reverse") for pair in nearer)
    yield CONTEST, f"CSBM is nearer than all on {len(nearer)} of {len(PAIRS)} pairs"
    low, high = extremes(
        min(values.value(name, pair) for name in judge.CLOSED) / values.value("CSBM", pair)
        for pair in nearer
    )
    yield CONTEST, f"on these the best of them is {low:.1f} to {high:.0f} times as far"
    factors = []
    for pair in PAIRS:
        way = "reverse" if pair.endswith("-reverse") else "forward"
        bridge = found.frontier.best(pair.removesuffix("-reverse"), way)
        assert bridge < values.value("CSBM", pair)
        factors += [values.value("CSBM", pair) / bridge] if bridge > 0 else []
    yield (
        CONTEST,
        (f"is below its bound on all {len(PAIRS)}, by a factor of {int(min(factors))} at least"),
    )


def network_training(_):
    """What holds CSBM back on chain pairs."""
    kls, pairs = {}, set()
    for line in study_lines("truth-pairs.jsonl"):
        options = line["options"]
        if options["learning_rate"] == "0.001":
            hidden = options["hidden"].replace("auto", NARROW)
            key = hidden, options["updates_first"], options["batch_size"]
            kls[key] = f"{line['joint_kl']:.2f}"
            pairs.add(line["pair"])
    (pair,) = pairs
    few, wide = (kls[hidden, "3000", "128"] for hidden in (NARROW, WIDE))
    many, rows = kls[NARROW, "36000", "128"], kls[NARROW, "12000", "512"]
    yield (
        CONTEST,
        (
            f"it is {few} nats away on {pair} after 3,000 updates, {wide} with four times the "
            f"width, {many} after 36,000 updates and {rows} after 12,000 of four times the rows"
        ),
    )


def network_ends(found):
    """first_share."""
    pair = "d64-gaussian-0.05-spread"
    ends = [line for line in study_lines("ends.jsonl") if line["pair"] == pair]
    shapes = [line["shape_score"] for line in ends]
    yield CONTEST, f"shape falls from {shapes[0]:.3f} to {shapes[-1]:.3f}"

    def trainings(file):
        """The lines of CSBM on the judged pairs."""
        return [
            line
            for line in study_lines(file)
            if NETWORKS[line["solver"]] == "CSBM" and line["pair"] in PAIRS and "reverse" in line
        ]

    looked = {line["pair"]: line for line in trainings("first-share-auto.jsonl")}
    watched = {line["pair"]: line for line in study_lines("walk-ends.jsonl")} | looked
    lost = [name for name in watched if watched[name]["diagnostics"]["drifted_after_iteration"]]
    assert lost == [pair]
    before, after = found.judge.value("CSBM", pair), looked[pair]["joint_kl"]
    yield (
        CONTEST,
        f"shape {looked[pair]['shape_score']:.3f}, and the joint KL is {after:.2f} in place of "
        f"{before:.2f}",
    )
    yield CONTEST, f"On the other {len(watched) - 1} pairs that were looked at no end is lost"
    bounds = {  # pair -> (without, with a share of first pairs)
        name: (found.judge.value("CSBM", name), scores["joint_kl"])
        for line in trainings("first-share.jsonl")
        for name, scores in both_ways(line)
    }
    gains = {name: before - after for name, (before, after) in bounds.items()}
    best, worst = max(gains, key=gains.get), min(gains, key=gains.get)
    for words, name in (("gain most", best), ("lose most", worst)):
        before, after = bounds[name]
        yield CONTEST, f"{words} on {name} ({after:.2f} in place of {before:.2f})"


def without_truth(_):
    """Held-out differences of bridges."""
    apart, right = agreement(proxies_cells.comparisons(proxies_cells.read()))
    yield CONTEST, f"of {len(apart):,} [held-out differences]"
    yield CONTEST, f"beyond two errors {len(right):,} had the true sign"


def still_open(found):
    """The rows of the table of what is open, but for those on n rows."""
    nearest = {way: found.nearest("", way) for way in WAYS}
    fresh_ones = {way: found.nearest(INSTANCE, way) for way in WAYS}

    def farthest(values):
        pair = max(values, key=values.get)
        return values[pair], pair

    value, pair = farthest(nearest["forward"])
    assert pair == HARDEST
    yield CONTEST, f"the farthest preset forward | {value:.4f} | {pair} |"
    value, pair = farthest(fresh_ones["forward"])
    preset = nearest["forward"][pair.removesuffix(INSTANCE)]
    assert family_of(pair.removesuffix(INSTANCE)) == "chain"
    yield CONTEST, f"does not warn of ({preset:.4f} there) | {value:.4f} | {pair} |"
    turned = {pair: found.frontier.best_turned(pair) for pair in pairs_of(families=("twosided",))}
    value, pair = farthest(turned)
    trained, _ = found.frontier.trained_from_p1(pair)
    yield (
        CONTEST,
        f"trained from x1 it is {trained:.4f} | {nats(value)} | {pair}-reverse |",
    )
    value, pair = farthest(fresh_ones["reverse"])
    assert value == max(
        max(values.values()) for values in (*nearest.values(), *fresh_ones.values())
    )
    assert found.frontier.trained_from_p1(pair) is None
    yield CONTEST, f"the farthest of all | {value:.4f} | {pair}-reverse |"
    chain = max((found.judge.value("CSBM", pair), pair) for pair in PAIRS)
    yield CONTEST, f"pairs of its own were not tried | {chain[0]:.2f} | {chain[1]} |"
    bound = f"{found.judge.value('CSBM', HARDEST):.2f}"
    (share,) = (
        line["joint_kl"]
        for line in study_lines("first-share.jsonl")
        if line["pair"] == HARDEST and "reverse" in line
    )
    yield CONTEST, f"has {share:.2f} here, and loses elsewhere | {bound} | {HARDEST} |"
    halved = {pair: found.judge.halved("CSBM", pair) for pair in PAIRS}
    value, pair = farthest(halved)
    assert pair == HARDEST
    yield (
        CONTEST,
        (
            f"below its bound of {bound} a network is: half the particles would add | "
            f"{value:.3f} | {HARDEST} |"
        ),
    )


CLAIMS = (
    in_short,
    choice,
    turned_round,
    chain_starts,
    networks,
    network_training,
    network_ends,
    without_truth,
    still_open,
)
