"""A two-sided pair of one's own, both directions, against enumeration."""

import numpy as np
import pytest
from enumeration import (
    coordinates_of,
    cp_values,
    every_pair,
    list_states,
    near_counts,
    positive_matrix,
    refuses,
)

import bridgemark as bm


def kron_power(matrix, dim):
    """One matrix for each coordinate as one of whole states."""
    result = np.ones((1, 1))
    for _ in range(dim):
        result = np.kron(result, matrix)
    return result


class Enumerated:
    """Two potentials and a matrix on 4^3 states, and all laws of their coupling in NumPy."""

    dim, size, num_steps, skip = 3, 4, 3, 2

    def __init__(self):
        rng = np.random.default_rng(11)
        self.matrix = positive_matrix(self.size, 12)
        self.arrays = {
            "log_beta": np.log([0.3, 0.7]),
            "log_cores": rng.normal(scale=2.0, size=(self.dim, self.size, 2)),
            "log_source_beta": np.log([0.5, 0.1, 2.0]),
            "log_source_cores": rng.normal(scale=2.0, size=(self.dim, self.size, 3)),
        }
        self.arrays["log_source_cores"][1, 2] = -np.inf  # states that p0 does not have
        self.pair = bm.build_pair(
            reference=self.matrix, total_steps=self.num_steps * self.skip, **self.arrays
        )
        self.states = list_states(self.dim, self.size)
        v = cp_values(self.arrays["log_beta"], self.arrays["log_cores"], self.states)
        f = cp_values(self.arrays["log_source_beta"], self.arrays["log_source_cores"], self.states)
        step = np.linalg.matrix_power(self.matrix, self.skip)
        self.step = kron_power(step, self.dim)
        # The law of (x_n, x_{n+1}) is before[n] x step x after[n+1] / total.
        self.before, self.after = [f], [v]
        for _ in range(self.num_steps):
            self.before.append(self.before[-1] @ self.step)
            self.after.insert(0, self.step @ self.after[0])
        q_ref = np.linalg.matrix_power(self.step, self.num_steps)
        joint = f[:, None] * q_ref * v
        self.joint = joint / joint.sum()

    def transition(self, n):
        """q*(x_{n+1} | x_n)."""
        law = self.step * self.after[n + 1]
        return law / law.sum(1, keepdims=True)

    def transition_back(self, n):
        """q*(x_{n-1} | x_n)."""
        law = self.step.T * self.before[n - 1]
        return law / law.sum(1, keepdims=True)


@pytest.fixture(scope="module")
def own():
    return Enumerated()


@pytest.fixture(scope="module")
def own_reverse(own):
    return bm.build_pair(
        reference=own.matrix,
        total_steps=own.num_steps * own.skip,
        reverse=True,
        **own.arrays,
    )


def test_two_sided_keeps_its_arrays(own, own_reverse):
    for pair in (own.pair, own_reverse):
        assert (pair.family, pair.dim, pair.num_categories) == ("twosided", 3, 4)
        assert pair.num_components == 2 and pair.reference == "matrix"
        for name, array in own.arrays.items():
            assert np.array_equal(getattr(pair, name), array), name


def test_two_sided_ends(own, own_reverse):
    p0, p1 = own.joint.sum(1), own.joint.sum(0)
    assert (p0 == 0).sum() == 16
    with np.errstate(divide="ignore"):
        log_p0, log_p1 = np.log(p0), np.log(p1)
    for pair, first, second in ((own.pair, log_p0, log_p1), (own_reverse, log_p1, log_p0)):
        np.testing.assert_allclose(pair.log_p0(own.states), first, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(pair.log_p1(own.states), second, rtol=1e-11, atol=1e-11)


def test_two_sided_conditionals(own, own_reverse):
    pairs = every_pair(own.states)
    for pair, joint in ((own.pair, own.joint), (own_reverse, own.joint.T)):
        q = np.exp(pair.log_conditional(*pairs)).reshape(64, 64)
        p = np.exp(pair.log_p0(own.states))
        np.testing.assert_allclose(p[:, None] * q, joint, rtol=1e-11, atol=1e-300)
        known = joint.sum(1) > 0
        conditional = joint[known] / joint[known].sum(1, keepdims=True)
        np.testing.assert_allclose(q[known], conditional, rtol=1e-11, atol=1e-300)
        marginals, error = pair.estimate_marginals(own.states[known])
        expected = coordinates_of(conditional, 3, 4)
        np.testing.assert_allclose(marginals, expected, rtol=1e-11, atol=1e-300)
        assert not error.any()
        log_marginals = pair.log_marginals(own.states[known])
        np.testing.assert_allclose(np.exp(log_marginals), marginals, rtol=1e-13)


def test_two_sided_transitions(own, own_reverse):
    for n in range(own.num_steps):
        forward = own.pair.log_transition_marginals(own.states, own.num_steps, n)
        expected = coordinates_of(own.transition(n), 3, 4)
        np.testing.assert_allclose(np.exp(forward), expected, rtol=1e-11)
        backward = own_reverse.log_transition_marginals(own.states, own.num_steps, n)
        expected = coordinates_of(own.transition_back(own.num_steps - n), 3, 4)
        np.testing.assert_allclose(np.exp(backward), expected, rtol=1e-11, atol=1e-300)


def test_two_sided_trajectories_run_backwards(own, own_reverse):
    rows, start = 20_000, 37
    x1 = np.broadcast_to(own.states[start], (rows, 3))
    path = own_reverse.sample_trajectory(x1, num_steps=own.num_steps, seed=4)
    assert path.shape == (rows, own.num_steps + 1, 3) and path.dtype == np.int32
    law = np.zeros((1, 64))
    law[0, start] = 1
    for n in range(own.num_steps + 1):
        assert near_counts(path[:, n], coordinates_of(law, 3, 4)[0]), n
        if n < own.num_steps:
            law = law @ own.transition_back(own.num_steps - n)


@pytest.mark.parametrize("direction", ["", "-reverse"])
@pytest.mark.parametrize("kind", ["preset", "arrays"])
def test_saved_two_sided_pairs_load(tmp_path, own, own_reverse, kind, direction):
    if kind == "preset":
        pair = bm.load("d2-gaussian-0.05-twosided" + direction)
    else:
        pair = own_reverse if direction else own.pair
    pair.save(tmp_path / "pair")
    loaded = bm.load(tmp_path / "pair")
    for name in ("name", "family", "dim", "num_categories", "num_components", "seed", "version"):
        assert getattr(loaded, name) == getattr(pair, name), name
    for name in ("reverse", "reference", "gamma", "total_steps"):
        assert getattr(loaded, name) == getattr(pair, name), name
    for name in ("log_beta", "log_cores", "log_source_beta", "log_source_cores"):
        assert np.array_equal(getattr(loaded, name), getattr(pair, name)), name
    x0, x1 = pair.sample_joint(200, seed=6)
    for mine, theirs in zip((x0, x1), loaded.sample_joint(200, seed=6)):
        assert np.array_equal(mine, theirs)
    for mine, theirs in zip(pair.test_set(), loaded.test_set()):
        assert np.array_equal(mine, theirs)
    for call in (
        lambda p: p.log_p0(x0),
        lambda p: p.log_p1(x1),
        lambda p: p.log_conditional(x0, x1),
        lambda p: p.log_transition_marginals(x0, 2, 1),
        lambda p: p.sample_conditional(x0, seed=7),
        lambda p: p.sample_trajectory(x0, num_steps=2, seed=7),
    ):
        np.testing.assert_allclose(call(loaded), call(pair), rtol=1e-14)


def test_two_sided_is_a_family():
    preset = bm.load("d2-uniform-0.01-twosided")
    pair = bm.build_pair(family="twosided", reference="uniform", gamma=0.01, seed=preset.seed)
    assert preset.family == pair.family == "twosided"
    for name in ("log_beta", "log_cores", "log_source_beta", "log_source_cores"):
        assert np.array_equal(getattr(pair, name), getattr(preset, name)), name
    assert preset.log_source_beta.shape == (4,) and preset.log_source_cores.shape == (2, 50, 4)
    assert preset.log_source_cores.dtype == np.float64
    one_sided = bm.load("d2-uniform-0.01")
    assert one_sided.log_source_beta is None and one_sided.log_source_cores is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"log_source_beta": [0.0]}, "log_source_beta and log_source_cores must be given together"),
        (
            {"log_source_beta": [0.0], "log_source_cores": np.zeros((2, 3))},
            r"log_source_cores must be an array \[D,S,K\]",
        ),
        (
            {"log_source_beta": [[0.0]], "log_source_cores": np.zeros((2, 3, 1))},
            r"log_source_beta must be an array \[K\]",
        ),
        (
            {"log_source_beta": [0.0], "log_source_cores": np.zeros((2, 6, 1)), "dim": 3},
            r"dim must be the same .* \[2, 3\]",
        ),
        (
            {
                "log_source_beta": [0.0],
                "log_source_cores": np.zeros((2, 6, 1)),
                "num_categories": 7,
            },
            r"num_categories must be the same .* \[6, 7\]",
        ),
        (
            {"log_source_beta": [0.0, 0.0], "log_source_cores": np.zeros((2, 6, 1))},
            "must have 1 entries, .* got 2",
        ),
        (
            {"log_source_beta": [-np.inf], "log_source_cores": np.zeros((2, 6, 1))},
            "must be positive somewhere",
        ),
        ({"family": "twosided", "source": "uniform"}, "source must be left out of a two-sided"),
        ({"family": "twosided", "source": np.full((2, 50), 0.02)}, "source must be left out"),
        ({"family": "twosided", "num_categories": 10}, "at least 11 for family twosided, got 10"),
        (
            {"family": "two-sided"},
            "family must be sphere, spread, chain, twosided or tree, got 'two-sided'",
        ),
    ],
)
def test_bad_two_sided_arguments_are_refused(arguments, message):
    refuses(message, bm.build_pair, **arguments)
