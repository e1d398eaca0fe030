"""What sentences say of the bridges of results/frontier: pairs of a page and its words, which
claims.py looks for."""

import statistics

import judge
from frontier import INSTANCE, pairs_of
from samples import family_of

FRONTIER, CONTEST, REVERSE = "results/frontier/README.md", "docs/contest.md", "docs/reverse.md"
BEHIND = 0.005  # nats that DLightSB-chain may be farther than DLightSB


def nearest(found):
    """The nearest bridge of each preset."""
    best = {
        direction: [found.best(pair, direction) for pair in pairs_of()]
        for direction in ("forward", "reverse")
    }
    most = max(map(max, best.values()))
    yield FRONTIER, f"within {most:.4f} nats of the truth**"
    yield CONTEST, f"some bridge is within {most:.4f} nats of the truth"
    middle = [statistics.median(values) for values in best.values()]
    yield FRONTIER, f"The median is {middle[0]:.4f} forward and {middle[1]:.4f} in reverse"


def chain_behind(found):
    """DLightSB-chain beside DLightSB, forward."""
    pairs = [pair for instance in ("", INSTANCE) for pair in pairs_of(instance)]
    behind = [value for pair in pairs if (value := found.behind(pair)) is not None]
    assert max(behind) <= BEHIND
    for page in (FRONTIER, CONTEST):
        yield page, f"more than {BEHIND} nats farther than DLightSB"


def turned_round(found):
    """Bridges that answer in reverse after a training forward."""

    def of_family(*families):
        return [pair for pair in pairs_of() if family_of(pair) in families]

    static = max(
        found.run(pair, "dlightsb")["reverse_bound"][0] for pair in of_family("sphere", "spread")
    )
    for page in (CONTEST, REVERSE):
        yield page, f"at most {static:.4f}"
    chain = max(map(found.best_turned, of_family("chain")))
    yield REVERSE, f"and {chain:.4f} of a chain pair"
    hardest = found.turned["d64-gaussian-0.02-spread-reverse"][0]
    yield CONTEST, f"at {hardest:.4f} on"
    networks = [judge.Judge().value("CSBM", pair) for pair in judge.SPREAD["reverse"]]
    yield CONTEST, f"is {min(networks):.4f} to {max(networks):.2f} nats away there"


CLAIMS = (nearest, chain_behind, turned_round)
