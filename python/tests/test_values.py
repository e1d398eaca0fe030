"""Pairs, couplings, solvers and results as values: pickles, copies, equality."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import bridgemark as bm

SMALL = {"updates": 10, "components": 5, "batch_size": 16}
MATRIX = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])

PAIRS = {
    "preset": lambda: bm.load("d2-gaussian-0.02"),
    "reversed preset": lambda: bm.load("d16-uniform-0.01-spread-reverse"),
    "custom": lambda: bm.build_pair(dim=3, num_categories=20, gamma=0.1, seed=3, name="mine"),
    "under a preset's name": lambda: bm.build_pair(dim=2, gamma=0.1, name="d2-gaussian-0.02"),
    "matrix": lambda: bm.build_pair(dim=2, reference=MATRIX),
    "states": lambda: bm.build_pair(
        source=np.arange(12).reshape(6, 2), num_categories=12, gamma=0.2
    ),
    "twosided": lambda: bm.build_pair(dim=2, family="twosided"),
}


def round_trip(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("kind", PAIRS)
def test_pairs(kind):
    pair = PAIRS[kind]()
    again = round_trip(pair)
    assert again == pair and hash(again) == hash(pair) and repr(again) == repr(pair)
    x0 = pair.sample_x0(50, seed=1)
    assert np.array_equal(again.sample_x0(50, seed=1), x0)
    assert np.array_equal(again.sample_conditional(x0, 2), pair.sample_conditional(x0, 2))
    assert copy.copy(pair) is pair and copy.deepcopy(pair) is pair
    assert pair != bm.load("d2-uniform-0.005") and pair != "pair" and not pair == None  # noqa: E711


def test_a_preset_travels_by_its_name():
    assert len(pickle.dumps(bm.load("d64-gaussian-0.02"))) < 200


def test_pairs_of_other_parameters_differ():
    pair = bm.build_pair(dim=2, seed=1, gamma=0.1)
    assert pair == bm.build_pair(dim=2, seed=1, gamma=0.1)
    assert pair != bm.build_pair(dim=2, seed=1, gamma=0.11)
    assert pair != bm.build_pair(dim=2, seed=2, gamma=0.1)
    assert pair != bm.build_pair(dim=2, seed=1, gamma=0.1, reverse=True)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("oracle", {}),
        ("independent", {}),
        ("feature-wise", {"marginal_samples": 1000}),
        ("sinkhorn", {"rows": 100}),
        ("dlightsb", SMALL),
        ("csbm", {"num_steps": 4, "hidden": 8, "updates_first": 3, "updates_later": 2,
                  "imf_iterations": 2, "initial": "independent"}),
    ],
)  # fmt: skip
def test_couplings_and_solvers(pair, name, options):
    solver = bm.make_solver(name, **options)
    assert round_trip(solver) == solver
    solver.fit(pair, seed=4)
    again = round_trip(solver)
    assert again == solver and again.coupling == solver.coupling
    assert hash(again.coupling) == hash(solver.coupling)
    x0 = pair.sample_x0(50, seed=1)
    assert np.array_equal(again.sample(x0, seed=2), solver.sample(x0, seed=2))
    assert again.coupling.pair == pair and again.coupling.options == solver.coupling.options
    assert copy.deepcopy(solver) == solver and copy.copy(solver.coupling) is solver.coupling
    assert solver != bm.make_solver(name, **options)  # not fitted
    assert solver.coupling != bm.make_solver(name, **options).fit(pair, seed=5).coupling


def test_couplings_of_data_and_reversed_ones():
    x0, x1 = np.array([[0, 1], [1, 1]]), np.array([[3, 4], [4, 4]])
    coupling = bm.DLightSB(**SMALL).fit(x0, x1, gamma=0.4).coupling
    again, back = round_trip(coupling), round_trip(coupling.reversed())
    assert again == coupling and back == coupling.reversed() and back != coupling
    assert np.array_equal(again.sample(x0, 3), coupling.sample(x0, 3))
    assert np.array_equal(back.sample(x1, 3), coupling.reversed().sample(x1, 3))
    assert coupling != bm.DLightSB(**SMALL).fit(x0, x1[:1], gamma=0.4).coupling


def test_solvers_are_no_keys():
    with pytest.raises(TypeError, match="unhashable"):
        hash(bm.Oracle())


def test_results_and_tables(pair):
    result = bm.evaluate(pair, bm.Oracle().fit(pair), conditional_samples=10, num_trajectories=5)
    assert round_trip(result) == result and str(round_trip(result)) == str(result)
    table = bm.compare([result], "joint_kl")
    assert round_trip(table) == table and table != bm.compare([result], "shape_score")


def _sum(pair):
    return int(pair.sample_x0(100, seed=3).sum())


def test_a_spawned_process_gets_the_pair():
    pair = PAIRS["custom"]()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_sum, [pair]) == [_sum(pair)]


def test_threads_share_a_pair():
    pair = bm.load("d16-gaussian-0.02-reverse")
    x0 = pair.sample_x0(200, seed=1)

    def work(seed):
        drawn = pair.sample_conditional(x0, seed)
        return drawn, pair.log_p0(x0, seed=seed)

    with ThreadPoolExecutor(8) as pool:
        shared = list(pool.map(work, range(16)))
    for seed, (drawn, log_p0) in enumerate(shared):
        expected = work(seed)
        assert np.array_equal(drawn, expected[0]) and np.array_equal(log_p0, expected[1])
