"""Seeds: ints, NumPy generators, None."""

import numpy as np
import pytest

import bridgemark as bm


@pytest.fixture(scope="module")
def draws(pair):
    coupling = bm.Reference().fit(pair).coupling
    x0 = pair.sample_x0(200, seed=1)
    return {
        "sample_x0": lambda seed: pair.sample_x0(200, seed),
        "sample_x1": lambda seed: pair.sample_x1(200, seed),
        "sample_joint": lambda seed: pair.sample_joint(200, seed)[1],
        "sample_conditional": lambda seed: pair.sample_conditional(x0, seed),
        "sample_trajectory": lambda seed: pair.sample_trajectory(x0, 4, seed),
        "coupling.sample": lambda seed: coupling.sample(x0, seed),
        "coupling.sample_trajectory": lambda seed: coupling.sample_trajectory(x0, 4, seed),
        "fit": lambda seed: bm.DLightSB(updates=3, components=3).fit(pair, seed=seed).sample(x0, 0),
    }


@pytest.mark.parametrize(
    "name",
    ["sample_x0", "sample_x1", "sample_joint", "sample_conditional", "sample_trajectory",
     "coupling.sample", "coupling.sample_trajectory", "fit"],
)  # fmt: skip
def test_every_kind_of_seed(draws, name):
    draw = draws[name]
    assert np.array_equal(draw(7), draw(np.int64(7)))
    assert not np.array_equal(draw(None), draw(None))
    generators = [np.random.default_rng(5) for _ in range(2)]
    first, second = draw(generators[0]), draw(generators[0])
    assert not np.array_equal(first, second)  # a generator goes on
    assert np.array_equal(first, draw(generators[1]))  # and is repeated by its own seed


def test_draws_without_a_seed_are_fresh(pair):
    solver = bm.Reference().fit(pair)
    x0 = pair.sample_x0(200, seed=1)
    draws = [
        lambda: pair.sample_x0(200),
        lambda: pair.sample_x1(200),
        lambda: pair.sample_joint(200)[0],
        lambda: pair.sample_joint(200)[1],
        lambda: pair.sample_conditional(x0),
        lambda: pair.sample_trajectory(x0),
        lambda: solver.sample(x0),
        lambda: solver.sample_trajectory(x0),
        lambda: solver.coupling.sample(x0),
        lambda: solver.coupling.sample_trajectory(x0),
        lambda: solver.reversed().sample(x0),
    ]
    for number, draw in enumerate(draws):
        assert not np.array_equal(draw(), draw()), number


def test_fits_results_and_estimates_repeat_without_a_seed():
    pair = bm.load("d16-gaussian-0.02")
    assert bm.Independent().fit(pair).coupling.seed == 0
    x = pair.sample_x1(5, seed=1)
    assert np.array_equal(pair.log_p1(x), pair.log_p1(x, seed=0))  # an estimate of the draws of 0


def test_fits_and_results_say_their_seed(pair):
    solver = bm.Independent().fit(pair, seed=None)
    assert solver.coupling.seed > 0
    quick = {"conditional_samples": 5, "num_trajectories": 2}
    result = bm.evaluate(pair, solver, seed=None, **quick)
    again = bm.evaluate(pair, solver, seed=result["seed"], **quick)
    assert again.scores == result.scores


@pytest.mark.parametrize("seed", ["1", 1.5, [1], object()])
def test_other_seeds_are_refused(pair, seed):
    with pytest.raises(TypeError, match="seed must be an int, a numpy.random.Generator or None"):
        pair.sample_x0(3, seed)


def test_seeds_out_of_range_are_refused(pair):
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match="seed must lie in"):
            pair.sample_x0(3, seed)
