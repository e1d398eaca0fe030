"""Chain pairs: potentials whose component changes along the coordinates."""

import itertools

import numpy as np
import pytest

import bridgemark as bm

DIM, CATEGORIES, STATES = 3, 4, 3


def chain_arrays(seed=0):
    rng = np.random.default_rng(seed)
    return {
        "log_start": rng.normal(size=STATES),
        "log_moves": rng.normal(size=(DIM - 1, STATES, STATES)),
        "log_cores": 2.0 * rng.normal(size=(DIM, CATEGORIES, STATES)),
    }


def enumerate_pair(pair, arrays):
    """All states, log c and log q(x1|x0), by sums over every path and every state."""
    states = np.array(list(itertools.product(range(CATEGORIES), repeat=DIM)), dtype=np.int32)
    log_v = np.full(len(states), -np.inf)
    for path in itertools.product(range(STATES), repeat=DIM):
        weight = np.full(len(states), arrays["log_start"][path[0]])
        for d, k in enumerate(path):
            if d > 0:
                weight += arrays["log_moves"][d - 1, path[d - 1], k]
            weight += arrays["log_cores"][d, states[:, d], k]
        log_v = np.logaddexp(log_v, weight)
    log_q = pair.log_reference(pair.total_steps)
    log_reference = sum(log_q[states[:, d][:, None], states[:, d][None]] for d in range(DIM))
    log_joint = log_reference + log_v[None]
    log_c = np.logaddexp.reduce(log_joint, axis=1)
    return states, log_joint - log_c[:, None]


@pytest.mark.parametrize("reference", ["gaussian", "uniform", "matrix"])
def test_own_chain_against_enumeration(reference):
    arrays = chain_arrays()
    matrix = np.random.default_rng(1).dirichlet(np.ones(CATEGORIES), CATEGORIES) + 0.02
    matrix /= matrix.sum(axis=1, keepdims=True)
    named = {"reference": reference, "gamma": 0.2}
    process = {"reference": matrix} if reference == "matrix" else named
    pair = bm.build_pair(**process, total_steps=8, **arrays)
    assert (pair.family, pair.dim, pair.num_components) == ("chain", DIM, STATES)
    np.testing.assert_array_equal(pair.log_moves, arrays["log_moves"])
    np.testing.assert_array_equal(pair.log_beta, arrays["log_start"])
    states, expected = enumerate_pair(pair, arrays)
    count = len(states)
    x0, x1 = np.repeat(states, count, axis=0), np.tile(states, (count, 1))
    log_q = pair.log_conditional(x0, x1).reshape(count, count)
    np.testing.assert_allclose(log_q, expected, rtol=1e-12, atol=1e-12)
    marginals = np.exp(pair.log_marginals(states))
    for d, s in itertools.product(range(DIM), range(CATEGORIES)):
        share = np.exp(expected[:, states[:, d] == s]).sum(axis=1)
        np.testing.assert_allclose(marginals[:, d, s], share, rtol=1e-11)
    # The two directions are one joint.
    reverse = bm.build_pair(**process, total_steps=8, reverse=True, **arrays)
    forward = pair.log_p0(x0) + pair.log_conditional(x0, x1)
    backward = reverse.log_p0(x1) + reverse.log_conditional(x1, x0)
    np.testing.assert_allclose(forward, backward, rtol=1e-11, atol=1e-11)


def test_without_moves_it_is_the_cp_pair():
    arrays = chain_arrays(2)
    with np.errstate(divide="ignore"):
        stay = np.log(np.broadcast_to(np.eye(STATES), (DIM - 1, STATES, STATES)))
    chain = bm.build_pair(
        log_start=arrays["log_start"], log_moves=stay, log_cores=arrays["log_cores"]
    )
    cp = bm.build_pair(log_beta=arrays["log_start"], log_cores=arrays["log_cores"])
    x0, x1 = cp.sample_joint(500, seed=3)
    np.testing.assert_allclose(
        chain.log_conditional(x0, x1), cp.log_conditional(x0, x1), rtol=1e-13, atol=1e-13
    )


def test_presets_save_and_load(tmp_path):
    pair = bm.load("d16-uniform-0.01-chain")
    assert pair.family == "chain" and pair.log_moves.shape == (15, 4, 4)
    np.testing.assert_allclose(np.exp(pair.log_moves).sum(axis=2), 1.0)
    assert bm.load("d16-uniform-0.01-spread").log_moves is None
    pair.save(tmp_path / "pair")
    again = bm.load(tmp_path / "pair")
    np.testing.assert_array_equal(again.log_moves, pair.log_moves)
    np.testing.assert_array_equal(again.test_set()[1], pair.test_set()[1])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"log_moves": None}, "a chain must have log_start, log_moves and log_cores"),
        ({"log_moves": np.zeros((DIM, STATES, STATES))}, "log_moves must have shape"),
        ({"log_start": np.zeros(STATES + 1)}, "log_start must have 3 entries"),
        ({"log_beta": np.zeros(STATES)}, "no log_beta"),
    ],
)
def test_refuses_what_does_not_fit(change, message):
    with pytest.raises(ValueError, match=message) as error:
        bm.build_pair(**{**chain_arrays(), **change})
    assert "\n" not in str(error.value)


def test_reverse_of_a_large_chain():
    pair = bm.load("d16-uniform-0.01-chain-reverse")
    x0 = pair.sample_x0(4, seed=1)
    x1 = pair.sample_conditional(x0, seed=1)
    np.testing.assert_array_equal(x1[1:2], pair.sample_conditional(x0, seed=1)[1:2])
    value, error = pair.log_p0(x0, with_error=True)
    again, _ = pair.log_p0(x0, seed=1, with_error=True)
    assert (error > 0).all() and (np.abs(value - again) < 6 * np.hypot(error, error)).all()
    forward = bm.load("d16-uniform-0.01-chain")
    joint = forward.log_p0(x1) + forward.log_conditional(x1, x0)
    np.testing.assert_allclose(value + pair.log_conditional(x0, x1), joint, atol=0.3)
