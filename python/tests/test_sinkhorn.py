"""POT finds the truth of a pair by itself: Sinkhorn from the two ends and the reference alone.

The Schrödinger bridge between p0 and p1 is the entropic transport plan with the cost -log q_ref
and regularisation 1. POT iterates to it over all 2500 x 2500 pairs of states in float64 and shares
no formula with the library.
"""

import numpy as np
import pytest

import bridgemark as bm

TOLERANCE = 1e-10  # of total variations
STOP = 1e-13  # of POT: the error of the plan's second marginal
FAMILIES = ["", "-spread", "-twosided"]
REFERENCES = ["gaussian-0.05", "uniform-0.01"]


@pytest.fixture(scope="module")
def pot():
    return pytest.importorskip("ot", reason="POT is not installed")


@pytest.fixture(scope="module", params=[f"d2-{r}{f}" for r in REFERENCES for f in FAMILIES])
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
