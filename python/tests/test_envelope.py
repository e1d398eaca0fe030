"""A reverse without a closed form, against enumeration."""

import numpy as np
import pytest
from enumeration import (
    coordinates_of,
    cp_values,
    list_states,
    near_counts,
    positive_matrix,
    refuses,
)

import bridgemark as bm


class Envelope:
    """A reversed pair on 6^5 states, too many to list, and its laws given a few x1 in NumPy."""

    dim, size, total_steps = 5, 6, 4

    def __init__(self):
        rng = np.random.default_rng(21)
        self.matrix = 0.8 * np.eye(self.size) + 0.2 * positive_matrix(self.size, 22)
        self.pmf = rng.dirichlet(np.ones(self.size), self.dim)
        self.pmf[3] = [0.5, 0.0, 0.5, 0.0, 0.0, 0.0]
        arrays = {
            "log_beta": np.log([0.2, 0.5, 0.3]),
            "log_cores": rng.normal(scale=2.5, size=(self.dim, self.size, 3)),
        }
        arrays["log_cores"][0, 5] = -np.inf  # p1 has no such state
        options = {
            "source": self.pmf,
            "reference": self.matrix,
            "total_steps": self.total_steps,
            **arrays,
        }
        self.forward = bm.build_pair(**options)
        self.pair = bm.build_pair(reverse=True, **options)
        self.states = list_states(self.dim, self.size)
        q_ref = np.linalg.matrix_power(self.matrix, self.total_steps)
        propagated = np.log(np.einsum("xy,dyk->dxk", q_ref, np.exp(arrays["log_cores"])))
        c = cp_values(arrays["log_beta"], propagated, self.states)
        p0 = np.prod([self.pmf[d, self.states[:, d]] for d in range(self.dim)], 0)
        self.x1 = self.forward.sample_x1(8, seed=1)
        v = cp_values(arrays["log_beta"], arrays["log_cores"], self.x1)
        self.joint = np.stack(
            [
                p0 / c * v_row * np.prod([q_ref[self.states[:, d], x[d]] for d in range(5)], 0)
                for x, v_row in zip(self.x1, v)
            ]
        )
        self.p1 = self.joint.sum(1)
        self.conditional = self.joint / self.p1[:, None]
        self.marginals = coordinates_of(self.conditional, self.dim, self.size)


@pytest.fixture(scope="module")
def envelope():
    return Envelope()


def test_envelope_estimates_p1(envelope):
    log_p1, error = envelope.pair.log_p0(envelope.x1, with_error=True)
    assert (error > 0).all()
    assert (np.abs(log_p1 - np.log(envelope.p1)) < 6 * error).all()
    assert envelope.forward.log_p1([[5, 0, 0, 0, 0]])[0] == -np.inf
    assert envelope.forward.log_p0([[0, 0, 0, 1, 0]])[0] == -np.inf


def test_envelope_conditionals(envelope):
    x0 = envelope.states
    for x1, law in zip(envelope.x1, envelope.conditional):
        given = np.broadcast_to(x1, x0.shape)
        log_q = envelope.pair.log_conditional(given, x0)
        error = envelope.pair.log_p0(given, with_error=True)[1]
        known = law > 0
        assert (log_q[~known] == -np.inf).all()
        assert (np.abs(log_q[known] - np.log(law[known])) < 6 * error[known]).all()


def test_envelope_marginals(envelope):
    marginals, error = envelope.pair.estimate_marginals(envelope.x1, num_draws=2000, seed=1)
    assert marginals.shape == error.shape == (8, 5, 6)
    assert marginals.dtype == error.dtype == np.float64
    np.testing.assert_allclose(marginals.sum(-1), 1.0, rtol=1e-12)
    assert (error > 0).all()
    assert (np.abs(marginals - envelope.marginals) < 6 * error).all()
    assert (marginals[:, 3, [1, 3, 4, 5]] == 0).all()
    again = envelope.pair.estimate_marginals(envelope.x1, 2000, 1)
    assert np.array_equal(marginals, again[0]) and np.array_equal(error, again[1])
    assert not np.array_equal(marginals, envelope.pair.estimate_marginals(envelope.x1, 2000)[0])
    fewer = envelope.pair.estimate_marginals(envelope.x1, num_draws=100)[1]
    assert (fewer > error).mean() > 0.9


def test_envelope_draws(envelope):
    x1 = np.repeat(envelope.x1[:1], 20_000, axis=0)
    x0 = envelope.pair.sample_conditional(x1, seed=2)
    assert x0.shape == (20_000, 5) and x0.dtype == np.int32
    assert near_counts(x0, envelope.marginals[0])
    assert np.array_equal(x0[:50], envelope.pair.sample_conditional(x1[:50], seed=2))
    assert not np.array_equal(x0, envelope.pair.sample_conditional(x1, seed=3))


def test_envelope_trajectories_are_pinned(envelope):
    rows, x1 = 20_000, envelope.x1[1]
    start = np.broadcast_to(x1, (rows, 5))
    path = envelope.pair.sample_trajectory(start, num_steps=4, seed=3)
    assert path.shape == (rows, 5, 5) and np.array_equal(path[:, 0], start)
    for n in range(1, 5):
        # n steps back from x1 there are 4 - n steps from x0.
        into = np.linalg.matrix_power(envelope.matrix, 4 - n)
        out = np.linalg.matrix_power(envelope.matrix, n)
        law = np.empty((5, 6))
        for d in range(5):
            inside = into * out[:, x1[d]]  # [x0, x_n]
            law[d] = envelope.marginals[1, d] @ (inside / inside.sum(1, keepdims=True))
        assert near_counts(path[:, n], law), n


def test_envelope_says_what_it_does_not_have(envelope):
    x1 = envelope.x1
    refuses("marginals", envelope.pair.log_marginals, x1)
    refuses("transitions", envelope.pair.log_transition_marginals, x1, 4, 1)
    for draws in (0, 1):
        refuses(
            f"num_draws must be at least 2, got {draws}",
            envelope.pair.estimate_marginals,
            x1,
            num_draws=draws,
        )
    refuses("num_draws must lie in .* got -1", envelope.pair.estimate_marginals, x1, num_draws=-1)
    refuses("seed must lie in .* got -1", envelope.pair.estimate_marginals, x1, seed=-1)
    refuses("num_steps", envelope.pair.sample_trajectory, x1, num_steps=3)
    for end in ("log_p0", "log_p1"):
        refuses("seed must lie in .* got -1", getattr(envelope.pair, end), x1, seed=-1)
        refuses(
            "x must hold categories 0..5, got 6 at row 0",
            getattr(envelope.pair, end),
            x1[:1] * 0 + 6,
        )
        refuses("x must have 5 columns", getattr(envelope.pair, end), x1[:, :2])
    refuses("got 8 and 3", envelope.pair.log_conditional, x1, x1[:3])


def test_empty_batches(envelope):
    none = np.empty((0, 5), np.int32)
    for pair in (envelope.pair, envelope.forward):
        assert pair.log_p0(none).shape == pair.log_p1(none).shape == (0,)
        assert pair.log_conditional(none, none).shape == (0,)
        assert all(array.shape == (0, 5, 6) for array in pair.estimate_marginals(none))
        assert pair.sample_trajectory(none, num_steps=2).shape == (0, 3, 5)
        assert pair.sample_conditional(none).shape == (0, 5)


def test_too_many_observed_states_have_no_reverse():
    observed = np.zeros((2001, 1400), np.int32)
    pair = bm.build_pair(
        source=observed, num_categories=6, reference="uniform", gamma=0.1, reverse=True
    )
    x = observed[:1]
    assert pair.log_p1(x)[0] == 0.0
    for call in (pair.sample_conditional, pair.log_p0, pair.estimate_marginals):
        refuses("at most .* observed states", call, x)
    refuses("at most .* observed states", pair.log_conditional, x, x)
