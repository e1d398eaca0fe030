"""My solver learns a small pair, and what it kept is what it fitted."""

import numpy as np
import pytest
from my_solver import MySolver

import bridgemark as bm

OPTIONS = {
    "hidden": 32,
    "num_steps": 4,
    "imf_iterations": 1,
    "updates": 60,
    "learning_rate": 1e-2,
}


@pytest.fixture
def pair():
    return bm.load("d2-gaussian-0.02-spread")


@pytest.fixture
def run(pair, tmp_path):
    return bm.SolverRun(dim=pair.dim, num_categories=pair.num_categories, seed=1, folder=tmp_path)


def test_it_is_nearer_to_the_truth_than_independent_draws(pair, run):
    model = MySolver().fit(pair, None, pair.reference, OPTIONS, run)
    few = {"num_seeds": 1, "conditional_samples": 100, "num_trajectories": 100, "particles": 0}
    mine = bm.evaluate(pair, model, **few)
    other = bm.evaluate(pair, bm.Independent().fit(pair), **few)
    score = "sampled_conditional_shape_score"
    assert mine[score] > other[score]


def test_what_is_loaded_is_what_was_fitted(pair, run):
    x0, x1 = pair.training_set(200)
    fitted = MySolver().fit(x0, x1, pair.reference, OPTIONS, run)
    loaded = MySolver().load(pair.reference, OPTIONS, run)
    np.testing.assert_array_equal(loaded.sample(x0, seed=2), fitted.sample(x0, seed=2))
