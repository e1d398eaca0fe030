"""Training sets of a pair: rows that are the same for everyone, and what is trained on them."""

import copy
import pickle

import numpy as np
import pytest

import bridgemark as bm


def test_rows_are_nested_unpaired_and_swapped_for_the_reversed_pair(pair):
    x0, x1 = pair.training_set(100, index=2)
    assert x0.shape == x1.shape == (100, pair.dim) and x0.dtype == x1.dtype == np.int32
    few = pair.training_set(10, 2)
    assert np.array_equal(few[0], x0[:10]) and np.array_equal(few[1], x1[:10])
    assert not np.array_equal(pair.training_set(100)[0], x0)
    back = bm.load(f"{pair.name}-reverse").training_set(100, 2)
    assert np.array_equal(back[0], x1) and np.array_equal(back[1], x0)
    with pytest.raises(ValueError, match="n must lie in 1.*got 0"):
        pair.training_set(0)


def test_a_fit_to_rows_is_that_to_their_arrays(pair, tmp_path):
    options = {"components": 4, "updates": 5, "batch_size": 8, "seed": 3}
    solver = bm.DLightSB().fit(pair, samples=50, training_set=1, **options)
    assert (solver.coupling.samples, solver.coupling.training_set) == (50, 1)
    assert solver.coupling.pair == pair and "50 rows of training set 1" in repr(solver.coupling)
    x0, x1 = pair.training_set(50, 1)
    of_arrays = bm.DLightSB().fit(x0, x1, reference=pair.reference, **options)
    given = pair.sample_x0(40, seed=5)
    answers = solver.sample(given, seed=6)
    assert np.array_equal(of_arrays.sample(given, seed=6), answers)
    for again in (pickle.loads(pickle.dumps(solver.coupling)), copy.copy(solver.coupling)):
        assert again == solver.coupling and np.array_equal(again.sample(given, seed=6), answers)
    assert solver.coupling != bm.DLightSB().fit(pair, samples=50, **options).coupling
    kept = tmp_path / "run"
    of_arrays.save(kept)
    assert np.array_equal(bm.load_solver(kept, pair).sample(given, seed=6), answers)


def test_results_say_what_a_solver_was_trained_on(pair):
    few = {"num_trajectories": 5, "conditional_samples": 5}
    result = bm.evaluate(pair, bm.FeatureWise().fit(pair, samples=30, training_set=2), **few)
    assert result["samples"] == 30 and result["training_set"] == 2
    assert "samples" not in bm.evaluate(pair, bm.Reference().fit(pair), **few)
    outside = bm.evaluate(pair, lambda x0: x0, samples=7, **few)
    assert outside["samples"] == 7 and outside["training_set"] == 0
    with pytest.raises(ValueError, match="which know their own, got 7"):
        bm.evaluate(pair, bm.Reference().fit(pair), samples=7, **few)


@pytest.mark.parametrize("which", ["gaussian", "matrix"])
def test_a_fit_to_arrays_is_scored_where_reference_and_sizes_agree(which, pair):
    if which == "matrix":
        matrix = np.random.default_rng(0).dirichlet(np.ones(6), 6)
        pair = bm.build_pair(
            reference=matrix, num_categories=6, dim=2, total_steps=4, seed=1, reverse=True
        )
    x0, x1 = pair.training_set(20)
    assert pair.reference == which and pickle.loads(pickle.dumps(pair.reference)) == which
    solver = bm.Independent().fit(x0, x1, reference=pair.reference)
    few = {"num_trajectories": 5, "conditional_samples": 5, "num_steps": 4}
    assert bm.evaluate(pair, solver, **few)["pair"] == pair.name
    other = bm.Independent().fit(x0, x1, gamma=0.1, num_categories=pair.num_categories)
    with pytest.raises(ValueError, match="whose reference must be that of pair"):
        bm.evaluate(pair, other, **few)
    with pytest.raises(ValueError, match="gamma is that of pair.reference, got 0.1"):
        bm.Independent().fit(x0, x1, reference=pair.reference, gamma=0.1)


def test_bad_numbers_are_named(pair):
    x0, x1 = pair.training_set(5)
    with pytest.raises(ValueError, match="training_set 1 needs samples"):
        bm.Reference().fit(pair, training_set=1)
    with pytest.raises(ValueError, match="samples must lie in 0.*got -1"):
        bm.Reference().fit(pair, samples=-1)
    with pytest.raises(ValueError, match="samples belongs to a pair"):
        bm.Independent().fit(x0, x1, samples=3)
    with pytest.raises(ValueError, match="without samples"):
        bm.Oracle().fit(pair, samples=5)
    with pytest.raises(ValueError, match="samples is of fit"):
        bm.FeatureWise(samples=5)


def test_grids_have_rows(tmp_path):
    file = tmp_path / "rows.toml"
    file.write_text(
        "name = 'rows'\n[evaluation]\ntrajectories = 5\nconditional_samples = 5\n[[grid]]\n"
        "pairs = ['d2-uniform-0.01']\nsolvers = ['independent']\nsamples = 20\ntraining_sets = 2\n"
    )
    table = bm.run(file, tmp_path / "out")
    assert {(row["samples"], row["training_set"]) for row in table} == {(20, 0), (20, 1)}
    assert {row["run"] for row in table} == {
        f"d2-uniform-0.01.independent.n20.set{i}.seed0" for i in (0, 1)
    }
