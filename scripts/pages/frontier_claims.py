"""What sentences say of the bridges of results/frontier: pairs of a page and its words, which
claims.py looks for."""

import statistics

from frontier import INSTANCE, pairs_of
from samples import dim_of, family_of

FRONTIER, REVERSE, README = "results/frontier/README.md", "docs/reverse.md", "README.md"
BEHIND = 0.005  # nats that DLightSB-chain may be farther than DLightSB


def nearest(found):
    """The nearest bridge of each preset."""
    best = {
        direction: [found.best(pair, direction) for pair in pairs_of()]
        for direction in ("forward", "reverse")
    }
    most = max(map(max, best.values()))
    yield FRONTIER, f"within {most:.4f} nats of the truth**"
    count = sum(map(len, best.values()))
    yield README, f"On all {count} presets and directions a bridge is within {most:.4f} nats"
    yield "CHANGELOG.md", f"within {most:.4f} nats of the truth on every preset"
    middle = [statistics.median(values) for values in best.values()]
    yield FRONTIER, f"The median is {middle[0]:.4f} forward and {middle[1]:.4f} in reverse"


def chain_behind(found):
    """DLightSB-chain beside DLightSB, forward."""
    pairs = [pair for instance in ("", INSTANCE) for pair in pairs_of(instance)]
    behind = [value for pair in pairs if (value := found.behind(pair)) is not None]
    assert max(behind) <= BEHIND
    yield FRONTIER, f"more than {BEHIND} nats farther than DLightSB"


def turned_round(found):
    """Bridges that answer in reverse after a training forward."""

    def of_family(*families):
        return [pair for pair in pairs_of() if family_of(pair) in families]

    static = max(
        found.run(pair, "dlightsb")["reverse_bound"][0] for pair in of_family("sphere", "spread")
    )
    yield REVERSE, f"at most {static:.4f}"
    yield README, f"at most {static:.3f}](results/frontier"
    chain = max(map(found.best_turned, of_family("chain")))
    yield REVERSE, f"and {chain:.4f} of a chain pair"


def seconds(found):
    """How long the trainings took, which shared a device."""

    def of(solver, dims=(2, 16, 64)):
        return [
            line["training_seconds"]
            for (pair, name), line in found.runs.items()
            if name == solver and dim_of(pair) in dims
        ]

    single, chain = (
        [statistics.median(of(solver, (dim,))) for dim in (2, 16, 64)]
        for solver in ("dlightsb", "dlightsb-chain")
    )
    yield FRONTIER, "training took {:.1f}, {:.1f} and {:.1f} s at D = 2, 16 and 64".format(*single)
    yield (
        FRONTIER,
        "choice among starts {:.1f}, {:.1f} and {:.1f} s, at most {:.0f}".format(
            *chain, max(of("dlightsb-chain"))
        ),
    )


CLAIMS = (nearest, chain_behind, turned_round, seconds)
