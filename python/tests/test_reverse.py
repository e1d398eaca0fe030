"""Both directions of a preset: its ends, one joint whichever way it is read, its Oracle."""

import numpy as np
import pytest
from enumeration import every_pair, list_states

import bridgemark as bm

FAMILIES = ["", "-spread", "-twosided"]
ENDS = ["log_p0", "log_p1"]


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
