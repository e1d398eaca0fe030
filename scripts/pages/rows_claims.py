"""What docs/contest.md and results/rows/README.md say of torch's solvers, for claims.py."""

import judge
import rows
from families import SHAPE

CONTEST, PAGE = "docs/contest.md", "results/rows/README.md"
KL = rows.KL
APART = 2  # standard errors
CHAIN, BACK = "d64-gaussian-0.02-chain", "d64-gaussian-0.02-spread-reverse"


def value(line, score=KL):
    return line["scores"][score]["value"]


def both(cells, first, second):
    """Cells of endless draws that two rows have."""
    for pair in rows.PAIRS:
        found = [cells.get((name, pair, 0)) for name in (first, second)]
        if all(found):
            yield pair, *(lines[0] for lines in found)


def beside_csbm(cells, _):
    """DDSBM and the autoregressive bridge beside CSBM, all trained as briefly."""
    steps = list(both(cells, "csbm", "ddsbm"))
    apart = []
    for pair, ours, theirs in steps:
        errors = [line["scores"][KL]["standard_error"] for line in (ours, theirs)]
        if abs(value(ours) - value(theirs)) > APART * sum(e * e for e in errors) ** 0.5:
            apart.append(pair)
    assert all("-twosided" in pair for pair in apart)
    words = (
        f"DDSBM is within two standard errors of CSBM on {len(steps) - len(apart)} of "
        f"{len(steps)} pairs and directions"
    )
    yield PAGE, words
    yield CONTEST, words
    exact = list(both(cells, "csbm", "autoregressive"))
    nearer = sum(value(theirs) < value(ours) for _, ours, theirs in exact)
    values = [value(theirs) for _, _, theirs in exact]
    words = f"{min(values):.2f} to {max(values):.1f} nats"
    yield PAGE, f"The autoregressive bridge's KL is exact: {words}"
    yield PAGE, f"below CSBM's bound on {nearer} of {len(exact)}"
    yield CONTEST, f"the autoregressive bridge, whose KL is exact, at {words}"


def flows(cells, presets):
    """Flow matching by its shares, and CNOT."""
    shares = {
        name: [
            rows.share(lines[0], presets)
            for (row, _, samples), lines in cells.items()
            if row == name and samples == 0
        ]
        for name in ("flow-ot", "flow-independent", "cnot", "csbm")
    }
    assert max(shares["cnot"]) < 0.0
    words = (
        f"at most {max(shares['flow-ot']):.2f} of the way with minibatch-OT pairs and "
        f"{max(shares['flow-independent']):.2f} with independent ones"
    )
    yield PAGE, words
    yield CONTEST, words
    yield PAGE, f"CSBM comes {min(shares['csbm']):.2f} to {max(shares['csbm']):.2f} of the way"


def longer(cells, presets):
    """The library's recipe in torch and in C++."""
    pair = "d16-gaussian-0.02-spread"
    torch, library = (
        sorted(cells[name, pair, 0], key=lambda line: line["seed"])
        for name in ("library", "library-c++")
    )
    bounds = [" and ".join(f"{value(line):.2f}" for line in lines) for lines in (torch, library)]
    shapes = [
        " and ".join(f"{value(line, SHAPE):.3f}" for line in lines) for lines in (torch, library)
    ]
    yield PAGE, f"at most {bounds[0]} nats in torch, {bounds[1]} in C++"
    yield PAGE, f"conditional shape {shapes[0]} in torch, {shapes[1]} in C++"


CLAIMS = [beside_csbm, flows, longer]


def of_rows(_, families):
    """Torch's solvers on every family."""
    cells, presets = rows.lines(), judge.preset_cells(families)
    for function in CLAIMS:
        yield from function(cells, presets)
