"""Data to data: two sets of states, a reference, no pair and no truth."""

import logging

import numpy as np
import pytest

import bridgemark as bm

QUICK = {
    "dlightsb": {"components": 8, "updates": 2000, "batch_size": 64},
    "dlightsb-m": {"components": 8, "updates": 2000, "batch_size": 64, "num_steps": 8},
    "dlightsb-chain": {"updates": 100, "batch_size": 64},
    "dlightsb-tree": {"updates": 100, "batch_size": 64},
    "csbm": {
        "num_steps": 8,
        "hidden": 16,
        "imf_iterations": 1,
        "updates_first": 20,
        "batch_size": 32,
        "initial": "independent",
    },
    "feature-wise": {},
    "sinkhorn": {},
    "reference": {},
    "independent": {},
}


@pytest.fixture(scope="module")
def ends():
    random = np.random.default_rng(0)
    x0 = np.clip(np.rint(random.normal(3, 1, (300, 2))), 0, 15).astype(np.uint8)
    x1 = np.clip(np.rint(random.normal(11, 1, (400, 2))), 0, 15).astype(np.int64)
    return x0, x1


@pytest.fixture(scope="module")
def fitted(ends):
    solver = bm.DLightSB(**QUICK["dlightsb"], source="none")  # turned round among the rows of x0
    return solver.fit(*ends, gamma=0.2, num_categories=16)


@pytest.mark.parametrize("name", QUICK)
def test_every_solver_fits_data(ends, name):
    solver = bm.make_solver(name, **QUICK[name]).fit(*ends, gamma=0.2, num_categories=16)
    coupling = solver.coupling
    assert coupling.pair is None and (coupling.dim, coupling.num_categories) == (2, 16)
    x1 = solver.sample(ends[0], seed=1)
    assert x1.shape == ends[0].shape and x1.dtype == np.int32
    if name in ("independent", "feature-wise", "sinkhorn", "dlightsb", "dlightsb-m"):
        assert abs(x1.mean() - ends[1].mean()) < 1.5
    assert "data" in repr(solver)
    if name != "independent":
        assert solver.sample_trajectory(ends[0][:3], num_steps=8).shape == (3, 9, 2)
    if name == "reference":
        back = solver.reversed().sample(ends[1][:50], seed=2)
        rows = {tuple(row) for row in ends[0]}
        assert all(tuple(row) in rows for row in back)  # Bayes' rule over the x0 that were seen
    if name in ("csbm", "dlightsb", "dlightsb-m", "dlightsb-chain", "dlightsb-tree"):
        back = solver.reversed().sample(ends[1][:50])  # by what was learned of x0
        assert back.shape == (50, 2) and (name == "csbm" or abs(back.mean() - ends[0].mean()) < 1.5)


def test_reverse_is_bayes_rule(ends, fitted):
    coupling, back = fitted.coupling, fitted.reversed()
    rows, counts = np.unique(ends[0], axis=0, return_counts=True)
    x1 = np.repeat(ends[1][:1], len(rows), axis=0)
    joint = np.log(counts) + coupling.log_conditional(rows, x1)
    expected = np.exp(joint - np.logaddexp.reduce(joint))
    assert np.exp(back.log_conditional(x1, rows)) == pytest.approx(expected, abs=1e-9)
    assert np.array_equal(back.reversed().sample(ends[0], seed=3), coupling.sample(ends[0], seed=3))
    assert back.sample_trajectory(ends[1][:4]).shape == (4, 17, 2)
    assert "reversed" in repr(back) and "gamma 0.2" in repr(back)
    with pytest.raises(ValueError, match="got a reversed one"):
        back.save("unused")


def test_pairs_are_read_backwards_too():
    pair = bm.load("d2-gaussian-0.05-spread")
    solver = bm.DLightSB(components=8, updates=50).fit(pair)
    back = solver.reversed()
    assert back.pair.name == "d2-gaussian-0.05-spread-reverse"
    assert back.sample(pair.sample_x1(10, seed=2)).shape == (10, 2)
    result = bm.evaluate(back.pair, back, conditional_samples=10)
    assert result["conditional_shape_score"] > 0
    with pytest.raises(ValueError, match="one direction alone"):
        bm.Independent().fit(pair).reversed()


def test_evaluate_refuses_with_the_reason(fitted, tmp_path, command_line):
    pair = bm.load("d2-gaussian-0.02")
    with pytest.raises(
        ValueError, match="dlightsb was fitted to data whose S must be that of pair"
    ):
        bm.evaluate(pair, fitted)
    with pytest.raises(
        ValueError, match="must be fitted to a benchmark pair, without samples, got data"
    ):
        bm.Oracle().fit([[0, 1]], [[2, 3]])


def test_gamma_is_proposed_and_told(ends, caplog):
    with caplog.at_level(logging.INFO, logger="bridgemark"):
        solver = bm.Reference().fit(*ends)
    assert 0.01 < solver.coupling.gamma < 1 and solver.coupling.reference == "gaussian"
    assert f"gamma {solver.coupling.gamma} was chosen for" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="bridgemark"):
        bm.Reference().fit(*ends, gamma=0.3)
    assert caplog.text == ""


def test_a_reference_that_hardly_moves_is_warned_of(ends):
    with pytest.warns(UserWarning, match="gamma 0.001 at S = 16 hardly moves"):
        bm.Reference().fit(*ends, gamma=0.001, num_categories=16)


def test_matrix_reference(ends):
    matrix = np.full((16, 16), 0.1 / 15)
    np.fill_diagonal(matrix, 0.9)
    own = bm.Reference().fit(*ends, reference=matrix, total_steps=16)
    named = bm.Reference().fit(
        *ends, reference="uniform", gamma=0.1, num_categories=16, total_steps=16
    )
    assert own.coupling.gamma is None and own.coupling.reference == "matrix"
    left, right = (s.coupling.log_marginals(ends[0][:5]) for s in (own, named))
    assert left == pytest.approx(right, abs=1e-9)


def test_runs_of_data_are_kept_and_resumed(ends, fitted, tmp_path, command_line):
    folder = tmp_path / "run"
    options = {"gamma": 0.2, "num_categories": 16}
    solver = bm.DLightSB(**QUICK["dlightsb"])
    solver.fit(*ends, folder=folder, **options)
    drawn = fitted.sample(ends[0], seed=5)
    assert np.array_equal(solver.sample(ends[0], seed=5), drawn)
    loaded = bm.load_solver(folder)
    assert loaded.coupling.pair is None and loaded.coupling.gamma == 0.2
    assert np.array_equal(loaded.sample(ends[0], seed=5), drawn)
    solver.fit(*ends, folder=folder, resume=True, **options)
    with pytest.raises(OSError, match="holds a run of other data"):
        solver.fit(ends[0][:-1], ends[1], folder=folder, resume=True, **options)
    fitted.save(tmp_path / "saved")
    assert np.array_equal(bm.load_solver(tmp_path / "saved").sample(ends[0], seed=5), drawn)
    np.save(tmp_path / "x0.npy", ends[0])
    command_line(
        "sample",
        "--run",
        folder,
        "--given",
        tmp_path / "x0.npy",
        "--seed",
        5,
        "-o",
        tmp_path / "x1.npy",
    )
    assert np.array_equal(np.load(tmp_path / "x1.npy"), drawn)


def test_training_equals_the_command_line(ends, fitted, tmp_path, command_line):
    for name, states in zip(("x0", "x1"), ends):
        np.save(tmp_path / f"{name}.npy", states)
    sets = [
        text for key, value in QUICK["dlightsb"].items() for text in ("--set", f"{key}={value}")
    ]
    command_line(
        "train",
        "dlightsb",
        "--x0",
        tmp_path / "x0.npy",
        "--x1",
        tmp_path / "x1.npy",
        "--gamma",
        0.2,
        "--categories",
        16,
        "-o",
        tmp_path / "run",
        *sets,
    )
    loaded = bm.load_solver(tmp_path / "run").coupling
    assert np.array_equal(loaded.sample(ends[0], seed=5), fitted.sample(ends[0], seed=5))


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        (([[0, 1]],), {}, TypeError, r"fit\(x0, x1\), got list alone"),
        (([[0, 1]], [[0, 1, 2]]), {}, ValueError, "x1 must have 2 columns"),
        (([0, 1], [[0, 1]]), {}, ValueError, "x0 must have shape"),
        (([[0.5, 1]], [[0, 1]]), {}, ValueError, "x0 must have an integer dtype"),
        (([[0, 1]], [[0, 5]]), {"num_categories": 4}, ValueError, r"x1 must hold categories 0..3"),
        (([[0, 1]], [[0, 5]]), {"reference": "gauss"}, ValueError, "reference must be gaussian"),
        (([[0, 1]], [[0, 5]]), {"gamma": -1.0}, ValueError, "gamma"),
        (([[0, -1]], [[0, 5]]), {}, ValueError, "x0 must hold categories"),
        (([[0, 1]], [[0, 5]]), {"total_steps": 0}, ValueError, "got 0"),
    ],
)
def test_bad_data_is_refused(arguments, keywords, error, message):
    with pytest.raises(error, match=message):
        bm.Reference().fit(*arguments, **keywords)


@pytest.mark.parametrize(
    "keywords",
    [{"gamma": 0.1}, {"reference": "uniform"}, {"num_categories": 3}, {"total_steps": 4}],
)
def test_a_pair_has_its_own_reference(pair, keywords):
    with pytest.raises(ValueError, match=f"{next(iter(keywords))} belongs to data"):
        bm.Reference().fit(pair, **keywords)


def test_a_distilled_fit_is_the_truth_of_its_pair(ends, tmp_path):
    solver = bm.DLightSB(**QUICK["dlightsb"]).fit(*ends, gamma=0.2, num_categories=16)
    pair = bm.distill(solver, name="low-high", seed=3, data_name="two clouds")
    assert (pair.name, pair.family, pair.dim, pair.num_categories) == (
        "low-high",
        "distilled",
        2,
        16,
    )
    assert pair.origin["trained_on"]["data"] == "two clouds"
    x0, x1 = pair.sample_joint(500, seed=1)
    np.testing.assert_array_equal(
        pair.log_conditional(x0, x1), solver.coupling.log_conditional(x0, x1)
    )
    assert abs(bm.evaluate(pair, solver, conditional_samples=10)["joint_kl"]) < 1e-12

    solver.save(tmp_path / "run")
    assert bm.distill(tmp_path / "run", name="low-high", seed=3, data_name="two clouds") == pair
    assert bm.load("d2-gaussian-0.02").origin is None


def test_what_is_no_truth_is_not_distilled(ends):
    with pytest.raises(ValueError, match="fits a potential and a law of x0.*got feature-wise"):
        bm.distill(bm.FeatureWise().fit(*ends, gamma=0.2, num_categories=16))
    unjudged = bm.DLightSB(**QUICK["dlightsb"], holdout=0)
    unjudged.fit(*ends, gamma=0.2, num_categories=16)
    with pytest.raises(ValueError, match="none held out has judged it"):
        bm.distill(unjudged)
    assert bm.distill(unjudged, accept_overfitted=True).family == "distilled"
    with pytest.raises(ValueError, match="got a reversed one"):
        bm.distill(unjudged.reversed())
