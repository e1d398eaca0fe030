"""What results/families/README.md says of the four families, for claims.py.

Each function of CLAIMS gets the cells of results/families and yields (page, words) as those of
claims.py do.
"""

import math

from families import CLOSED, DIMS, mean
from result_tables import PAIRS
from samples_grid import CLEAR, KL

FAMILIES = "results/families/README.md"
LOST = 0.05  # nats from which on DLightSB-chain counts as away from a truth that fits its rivals
ENDS = ("", "-spread", "-chain", "-twosided")
ALL = [pair + end + back for pair in PAIRS for end in ENDS for back in ("", "-reverse")]


def joint_kl(cells, name, pair):
    return mean(cells, (*CLOSED[name], pair, KL))


def largest(cells, name, ends):
    return max(joint_kl(cells, name, pair + end) for pair in PAIRS for end in ends)


def gap(cells, name, other, pair):
    """How much farther than another solver one is; 0 within two standard errors."""
    lines = [cells[(*CLOSED[each], pair, KL)][0] for each in (name, other)]
    difference = lines[0]["value"] - lines[1]["value"]
    error = math.hypot(*(line["standard_error"] for line in lines))
    return difference if abs(difference) > CLEAR * error else 0


def form_fits(cells):
    """What bridges lack where the truth has their form."""
    mixtures = ("", "-spread", "-twosided", "-twosided-reverse")
    static, matching = (largest(cells, name, mixtures) for name in ("DLightSB", "DLightSB-M"))
    yield FAMILIES, f"within {static:.3f} and {matching:.3f} nats of it"
    chain = largest(cells, "DLightSB-chain", ("-chain",))
    yield FAMILIES, f"has the truth's form and is within {chain:.4f} nats"


def form_fails(cells):
    """What they lack where it has another."""
    yield FAMILIES, f"DLightSB loses up to {largest(cells, 'DLightSB', ('-chain',)):.1f} nats"
    chain = largest(cells, "DLightSB-chain", ("-chain-reverse",))
    yield FAMILIES, f"DLightSB-chain stays within {chain:.2f} nats of it"
    narrow = [
        joint_kl(cells, "DLightSB-chain", f"d{dim}-gaussian-0.02{end}-reverse")
        for dim in DIMS[1:]
        for end in ("", "-spread")
    ]
    yield FAMILIES, f"{min(narrow):.1f} to {max(narrow):.1f} nats away with the gaussian"
    for pair in PAIRS[4:]:  # D = 16 and 64
        for end in ("-reverse", "-spread-reverse"):
            assert not any(gap(cells, name, "DLightSB-chain", pair + end) < 0 for name in CLOSED)
    pair = "d64-gaussian-0.05-spread-reverse"
    names = "DLightSB", "Feature-wise SB", "DLightSB-chain"
    static, product, chain = (joint_kl(cells, name, pair) for name in names)
    yield (
        FAMILIES,
        (
            f"it is at {static:.2f} nats, one product at {product:.2f}, a chain of 32 states at "
            f"{chain:.2f}"
        ),
    )


def matching(cells):
    """DLightSB-M beside DLightSB, which fits the same model."""
    gaps = {pair: gap(cells, "DLightSB-M", "DLightSB", pair) for pair in ALL}
    assert min(gaps.values()) == 0
    farther = [pair for pair, far in gaps.items() if far > 0]
    flat = sum(pair.startswith("d2-") for pair in farther)
    high = sum(not pair.startswith("d2-") for pair in ALL)
    yield FAMILIES, f"on none** of the {len(ALL)} pairs"
    yield (
        FAMILIES,
        (
            f"farther on {len(farther)} ({flat} of D = 2, {len(farther) - flat} of {high} from "
            "D = 16 on)"
        ),
    )


def chain_on_presets(cells):
    """The presets of other forms that DLightSB-chain, started on samples, does not fit."""
    lost = {
        pair: value
        for pair in (pair + end for pair in PAIRS for end in ("", "-spread", "-twosided"))
        if (value := joint_kl(cells, "DLightSB-chain", pair)) > LOST
    }
    assert len(lost) == 3 and all("gaussian-0.02" in pair for pair in lost)
    static = max(joint_kl(cells, "DLightSB", pair) for pair in lost)
    low, most = min(lost.values()), max(lost.values())
    yield (
        FAMILIES,
        (f"{low:.2f} to {most:.2f} nats on three forward presets (DLightSB at most {static:.2f})"),
    )


CLAIMS = (form_fits, form_fails, matching, chain_on_presets)
