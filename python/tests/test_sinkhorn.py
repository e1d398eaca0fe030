"""POT's Sinkhorn beside the truth of pairs and beside the solver of that name.

The Schrödinger bridge between p0 and p1 is the entropic transport plan with the cost -log q_ref
and regularisation 1. POT iterates to it in float64, over all 2500 x 2500 pairs of states or over
all pairs of rows, and shares no formula with the library.
"""

import numpy as np
import pytest
import safetensors_file

import bridgemark as bm

TOLERANCE = 1e-10  # of total variations
STOP = 1e-13  # of POT: the error of the plan's second marginal
PAIRS = ["d2-gaussian-0.05", "d2-uniform-0.01-spread", "d2-gaussian-0.05-twosided"]


@pytest.fixture(scope="module")
def pot():
    return pytest.importorskip("ot", reason="POT is not installed")


@pytest.fixture(scope="module", params=PAIRS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def states():
    return np.indices((50, 50)).reshape(2, -1).T.astype(np.int32)


def log_reference(pair):
    """log q_ref(y|x) of whole states, [2500, 2500]."""
    log_q = pair.log_reference(pair.total_steps)
    return (log_q[:, None, :, None] + log_q[None, :, None, :]).reshape(2500, 2500)


@pytest.fixture(scope="module")
def plan(pot, name, states):
    pair = bm.load(name)
    ends = np.exp(pair.log_p0(states)), np.exp(pair.log_p1(states))
    found, log = pot.bregman.sinkhorn_log(
        *ends, -log_reference(pair), reg=1.0, numItermax=200, stopThr=STOP, log=True
    )
    assert log["err"][-1] < STOP
    return found


def total_variation(left, right):
    return 0.5 * np.abs(left - right).sum()


def test_truth_is_the_plan(name, states, plan):
    pair = bm.load(name)
    x0, x1 = np.repeat(states, 2500, axis=0), np.tile(states, (2500, 1))
    log_q = pair.log_conditional(x0, x1).reshape(2500, 2500)
    joint = np.exp(pair.log_p0(states)[:, None] + log_q)
    assert total_variation(joint, plan) < TOLERANCE


def test_truth_of_the_reverse_is_the_plan_transposed(name, states, plan):
    pair = bm.load(name + "-reverse")
    # A bridge's log q(y|x) is log q_ref(y|x) + g(y) + h(x), so a row and a column say all of it:
    # the closed form of a reverse that lists its states takes minutes for all rows.
    log_q_ref, middle = log_reference(pair), 25 * 50 + 25
    fixed = np.broadcast_to(states[middle], states.shape)
    g = pair.log_conditional(fixed, states) - log_q_ref[middle]
    h = pair.log_conditional(states, fixed) - log_q_ref[:, middle] - g[middle]
    log_q = log_q_ref + g + h[:, None]
    x0, x1 = pair.sample_joint(10_000, seed=1)
    rows = log_q[x0 @ [50, 1], x1 @ [50, 1]]
    assert np.abs(rows - pair.log_conditional(x0, x1)).max() < TOLERANCE
    joint = np.exp(pair.log_p0(states)[:, None] + log_q)
    assert total_variation(joint, plan.T) < TOLERANCE


# --- the solver, between rows


@pytest.fixture(scope="module", params=[("gaussian-0.05", 500), ("uniform-0.01", 300)])
def rows(request):
    """A pair, rows of both ends, and log q_ref between them, [n, m]."""
    preset, n = request.param
    pair = bm.load(f"d16-{preset}-spread")
    x0, x1 = pair.sample_x0(n, seed=1), pair.sample_x1(n - 100, seed=2)
    log_q = pair.log_reference(pair.total_steps)
    log_kernel = sum(log_q[x0[:, d, None], x1[None, :, d]] for d in range(pair.dim))
    return pair, x0, x1, log_kernel


def test_potentials_are_those_of_pot(pot, rows, tmp_path):
    pair, x0, x1, log_kernel = rows
    kind, gamma = pair.name.split("-")[1:3]
    solver = bm.Sinkhorn(smoothing=0, tolerance=STOP).fit(
        x0, x1, reference=kind, gamma=float(gamma), num_categories=50, folder=tmp_path / "run"
    )
    h = safetensors_file.read(tmp_path / "run" / "model.safetensors")[0]["log_weights"]
    f = -np.log(len(x0)) - np.logaddexp.reduce(log_kernel + h, axis=1)
    weights = [np.full(len(x), 1 / len(x)) for x in (x0, x1)]
    _, log = pot.bregman.sinkhorn_log(
        *weights, -log_kernel, reg=1.0, numItermax=20_000, stopThr=STOP, log=True
    )
    assert log["err"][-1] < STOP
    for ours, theirs in ((f, log["log_u"]), (h, log["log_v"])):
        difference = ours - theirs  # a constant, which both ends share
        assert np.abs(difference - difference.mean()).max() < TOLERANCE
    # What it draws are rows of x1, each by its share of the plan's row.
    plan = np.exp(log_kernel[0] + h - np.logaddexp.reduce(log_kernel[0] + h))
    marginals = np.exp(solver.log_marginals(x0[:1])[0])
    for d in range(pair.dim):
        assert np.allclose(marginals[d], np.bincount(x1[:, d], plan, 50), atol=1e-12)


def test_smoothing_gives_every_state_a_probability(rows):
    _, x0, x1, _ = rows
    solver = bm.Sinkhorn(smoothing=8).fit(x0, x1, gamma=0.05, num_categories=50)
    assert np.isfinite(solver.log_conditional(x0[: len(x1)], x1[::-1].copy())).all()
    with pytest.raises(ValueError, match="no joint log-probability"):
        bm.Sinkhorn(smoothing=0).fit(x0, x1, gamma=0.05, num_categories=50).log_conditional(x0, x0)
