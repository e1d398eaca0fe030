"""Both directions of a pair: its ends, its reverse in any dimension, two-sided pairs."""

import numpy as np
import pytest

import bridgemark as bm

FAMILIES = ["", "-spread", "-twosided"]
ENDS = ["log_p0", "log_p1"]


def list_states(dim, num_categories):
    """All of them, [S**D, D], the last coordinate the fastest."""
    return np.indices((num_categories,) * dim).reshape(dim, -1).T.astype(np.int32)


def cp_values(log_beta, log_cores, states):
    """The sum over k of beta_k prod_d core_k^d at each state."""
    terms = np.exp(log_beta)
    for d in range(states.shape[1]):
        terms = terms * np.exp(log_cores[d])[states[:, d]]
    return terms.sum(1)


def kron_power(matrix, dim):
    """One matrix for each coordinate as one of whole states."""
    result = np.ones((1, 1))
    for _ in range(dim):
        result = np.kron(result, matrix)
    return result


def positive_matrix(size, seed):
    """A reference that is not symmetric and does not have an even stationary law."""
    matrix = np.random.default_rng(seed).random((size, size)) ** 3 + 0.02
    return matrix / matrix.sum(1, keepdims=True)


def coordinates_of(law, dim, size):
    """Laws [rows, S**D] of whole states by coordinate, [rows, D, S]."""
    law = law.reshape(len(law), *[size] * dim)
    axes = range(1, dim + 1)
    return np.stack([law.sum(tuple(a for a in axes if a != d)) for d in axes], 1)


def every_pair(states):
    """All (from, to), `from` the slower."""
    count = len(states)
    return np.repeat(states, count, axis=0), np.tile(states, (count, 1))


def refuses(message, call, *arguments, **options):
    with pytest.raises(ValueError, match=message) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)


# --- the ends of a pair


@pytest.mark.parametrize("direction", ["", "-reverse"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("reference", ["gaussian-0.02", "uniform-0.01"])
def test_ends_sum_to_one(reference, family, direction):
    pair = bm.load(f"d2-{reference}{family}{direction}")
    states = list_states(2, 50)
    for end in ENDS:
        log_p, error = getattr(pair, end)(states, with_error=True)
        assert log_p.shape == error.shape == (2500,)
        assert log_p.dtype == error.dtype == np.float64
        assert not error.any()  # a closed form
        assert abs(np.exp(log_p).sum() - 1) < 1e-12, end
        assert np.array_equal(getattr(pair, end)(states), log_p)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_reverse_has_the_ends_swapped(family):
    pair, reverse = (bm.load(f"d2-uniform-0.005{family}{d}") for d in ("", "-reverse"))
    states = list_states(2, 50)
    assert np.array_equal(pair.log_p0(states), reverse.log_p1(states))
    assert np.array_equal(pair.log_p1(states), reverse.log_p0(states))
    assert not np.allclose(pair.log_p0(states), pair.log_p1(states))


def test_observed_states_are_p0():
    observed = [[0, 1], [2, 2], [2, 2], [1, 0]]
    pair = bm.build_pair(source=observed, num_categories=3, reference="uniform", gamma=0.1)
    np.testing.assert_allclose(
        np.exp(pair.log_p0([[2, 2], [0, 1], [1, 1]])), [0.5, 0.25, 0.0], rtol=1e-14
    )
    states = list_states(2, 3)
    q = np.exp(pair.log_conditional(*every_pair(states))).reshape(9, 9)
    p1 = np.exp(pair.log_p0(states)) @ q
    np.testing.assert_allclose(np.exp(pair.log_p1(states)), p1, rtol=1e-12)


@pytest.mark.parametrize("family", ["", "-spread"])
def test_estimated_ends_say_their_error(family):
    pair = bm.load(f"d16-gaussian-0.02{family}")
    x0, x1 = pair.sample_joint(100, seed=3)
    assert not pair.log_p0(x0, with_error=True)[1].any()
    (first, first_error), (second, second_error) = (
        pair.log_p1(x1, seed=seed, with_error=True) for seed in (1, 2)
    )
    assert (first_error > 0).all() and (second_error > 0).all()
    assert (first_error < 0.1).all()
    apart = (first - second) / np.hypot(first_error, second_error)
    assert np.abs(apart).max() < 6
    # Errors are neither too small nor a mere excuse: 100 such ratios have a mean square near 1.
    assert 0.5 < np.mean(apart**2) < 1.6
    assert np.array_equal(first, pair.log_p1(x1, seed=1))
    assert np.array_equal(pair.log_p1(x1), pair.log_p1(x1, seed=0))
    reverse = bm.load(pair.name + "-reverse")
    assert np.array_equal(reverse.log_p0(x1, seed=1), first)
    assert not reverse.log_p1(x0, with_error=True)[1].any()


def test_two_sided_ends_are_exact_in_any_dimension():
    pair = bm.load("d16-uniform-0.01-twosided")
    x0, x1 = pair.sample_joint(50, seed=3)
    for end, x in zip(ENDS, (x0, x1)):
        log_p, error = getattr(pair, end)(x, with_error=True)
        assert np.isfinite(log_p).all() and not error.any()
        assert np.array_equal(log_p, getattr(pair, end)(x, seed=5))


# --- one joint, whichever way it is read


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("reference", ["gaussian-0.05", "uniform-0.005"])
def test_both_directions_have_one_joint(reference, family):
    pair, reverse = (bm.load(f"d2-{reference}{family}{d}") for d in ("", "-reverse"))
    x0, x1 = pair.sample_joint(300, seed=1)
    x1[200:] = pair.sample_x1(100, seed=2)  # rows that the joint hardly has
    forward = pair.log_p0(x0) + pair.log_conditional(x0, x1)
    backward = reverse.log_p0(x1) + reverse.log_conditional(x1, x0)
    assert np.abs(forward - backward).max() < 1e-10


def test_both_directions_have_one_joint_two_sided_d16():
    pair, reverse = (bm.load(f"d16-gaussian-0.02-twosided{d}") for d in ("", "-reverse"))
    x0, x1 = pair.sample_joint(300, seed=1)
    forward = pair.log_p0(x0) + pair.log_conditional(x0, x1)
    backward = reverse.log_p0(x1) + reverse.log_conditional(x1, x0)
    assert np.abs(forward - backward).max() < 1e-10


@pytest.mark.parametrize("name", ["d16-gaussian-0.02", "d16-uniform-0.01-spread"])
def test_both_directions_have_one_joint_within_the_error(name):
    pair, reverse = bm.load(name), bm.load(name + "-reverse")
    x0, x1 = pair.sample_joint(100, seed=1)
    forward = pair.log_p0(x0) + pair.log_conditional(x0, x1)
    # log_conditional rests on the draws of seed 0; another seed makes p1 an estimate of its own.
    log_p1, error = reverse.log_p0(x1, seed=1, with_error=True)
    own_error = reverse.log_p0(x1, seed=0, with_error=True)[1]
    backward = log_p1 + reverse.log_conditional(x1, x0)
    assert (np.abs(forward - backward) < 6 * np.hypot(error, own_error)).all()


# --- a two-sided pair of one's own, against enumeration


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


def near_counts(drawn, law):
    """Whether the counts of draws [rows, D] are those of a law [D, S], to 6 deviations."""
    rows, dim = drawn.shape
    for d in range(dim):
        counts = np.bincount(drawn[:, d], minlength=law.shape[1])
        deviation = np.sqrt(rows * law[d] * (1 - law[d]))
        if not (np.abs(counts - rows * law[d]) < 6 * deviation + 3).all():
            return False
    return True


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
        ({"family": "two-sided"}, "family must be sphere, spread, chain or twosided, got 'two-sided'"),
    ],
)
def test_bad_two_sided_arguments_are_refused(arguments, message):
    refuses(message, bm.build_pair, **arguments)


# --- a reverse without a closed form, against enumeration


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
    for end in ENDS:
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


# --- presets of any dimension


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dim", [2, 16, 64])
def test_trajectories_of_reversed_presets(dim, family):
    pair = bm.load(f"d{dim}-uniform-0.01{family}-reverse")
    x0 = pair.sample_x0(20, seed=1)
    path = pair.sample_trajectory(x0, num_steps=8, seed=2)
    assert path.shape == (20, 9, dim) and path.dtype == np.int32
    assert np.array_equal(path[:, 0], x0)
    assert path.min() >= 0 and path.max() < 50
    assert (path[:, 1:] != path[:, :-1]).any()
    assert np.array_equal(path, pair.sample_trajectory(x0, num_steps=8, seed=2))
    assert np.array_equal(path[:5], pair.sample_trajectory(x0[:5], num_steps=8, seed=2))
    assert not np.array_equal(path, pair.sample_trajectory(x0, num_steps=8, seed=3))
    assert pair.sample_trajectory(x0).shape == (20, 17, dim)
    assert np.isfinite(pair.log_p1(path[:, -1])).all()


def test_oracle_of_a_reversed_d16_pair():
    pair = bm.load("d16-gaussian-0.02-reverse")
    oracle = bm.Oracle().fit(pair)
    result = bm.evaluate(pair, oracle)
    assert result["joint_kl"] == 0.0
    assert 0.98 < result["shape_score"] <= 1 and result["conditional_shape_score"] > 0.9
    for name in ("forward_trajectory_kl", "reverse_trajectory_kl"):
        assert result[name] is None
        assert result["missing"][name] == "the truth has no closed-form transitions with 16 steps"
    for name in ("exact_conditional_shape_score", "sampled_conditional_shape_score"):
        assert result["missing"][name] == "the truth has no closed-form marginals"
    assert len(result["missing"]) == 4


def test_oracle_of_a_reversed_two_sided_pair():
    pair = bm.load("d16-gaussian-0.02-twosided-reverse")
    result = bm.evaluate(pair, bm.Oracle().fit(pair))
    assert result["joint_kl"] == 0.0 and not result.get("missing")
    assert abs(result["forward_trajectory_kl"]) < 1e-9
    assert abs(result["reverse_trajectory_kl"]) < 1e-9
    assert result["exact_conditional_shape_score"] == pytest.approx(1.0)
