"""What pages and the program say of numbers without a truth, for claims.py.

Each function of CLAIMS gets the cells of results/proxies and yields (page, words) as those of
claims.py do.
"""

import statistics

from proxies import CLOSE, agreement, belief, ranked
from proxies_cells import PROXIES, comparisons, misled

PAGE, SCORES = "results/proxies/README.md", "docs/scores.md"
SPECS = "bridgemark/metric/own_data/data_score.cc"


def beliefs(cells):
    """The sentence beside each number that `evaluate --x0 --x1` prints."""
    for proxy in PROXIES:
        if words := belief(cells, proxy):
            yield SPECS, words


def signs(cells):
    """How often the held-out difference has the sign of the true one."""
    found = comparisons(cells)
    apart, right = agreement(found)
    pairs = {each.cell.pair for each in found}
    measured = {(each.cell.pair, each.cell.samples) for each in found}
    share = 100 * len(right) / len(apart)
    assert share >= 95
    for page in (PAGE, SCORES):
        yield (
            page,
            f"Of {len(apart):,} differences beyond two standard errors {len(right):,} had the true "
            f"sign ({share:.1f} %)",
        )
    close_apart, close_right = agreement([each for each in found if abs(each.true) < CLOSE])
    yield PAGE, f"{len(close_right):,} of {len(close_apart):,} where the two are less than 1 nat"
    yield PAGE, f"{len(measured)} of the {3 * 24} cells, of {len(pairs)} pairs"
    yield SPECS, f"{share:.1f} % of differences beyond two errors had the true sign."


def fooled(cells):
    """Where a number takes a worse run for better than the default DLightSB."""
    cells = [cell for cell in cells if cell.menu != "networks"]

    def of(proxy, worse):
        decided, turned = misled(cells, proxy, "dlightsb", worse)
        return f"{turned} of {decided} cells"

    yield PAGE, f"better than the default DLightSB in {of('shape_score', 'independent')}"
    yield PAGE, f"looks better by it than the default in {of('nearest_changed', 'dlightsb-rough')}"
    yield PAGE, f"moves x0 less in {of('changed', 'reference')}"
    yield PAGE, f"its path KL is lower in {of('reference_kl', 'reference')}"


def of_networks(cells):
    """How numbers rank networks."""

    def mean(proxy, kind):
        return statistics.mean(each[0] for each in ranked(cells, proxy, kind))

    shapes = [mean("shape_score", kind) for kind in ("networks", "bridges")]
    yield PAGE, f"shape ranks better ({shapes[0]:.2f}) than among bridges ({shapes[1]:.2f})"
    means = {
        proxy: mean(proxy, "networks") for proxy in PROXIES if ranked(cells, proxy, "networks")
    }
    best = max(
        (proxy for proxy in means if proxy != "copies"),  # which few networks have
        key=means.get,
    )
    assert best == "bridge_distance"
    yield PAGE, f"ranks them best ({means[best]:.2f})"
    pairs = {cell.pair for cell in cells if cell.menu == "networks"}
    assert {cell.samples for cell in cells if cell.menu == "networks"} == {3000}
    yield PAGE, f"On 3,000 rows of {len(pairs)} pairs"
    assert all("gaussian" in pair for pair in pairs)


CLAIMS = (beliefs, signs, fooled, of_networks)
