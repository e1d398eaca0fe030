"""compare_on: solvers on data, without a truth."""

import json
import math

import numpy as np
import pytest

import bridgemark as bm

QUICK = {"components": 8, "updates": 200, "batch_size": 64, "holdout": 0}


def ends(seed, rows0, rows1):
    random = np.random.default_rng(seed)
    x0 = np.clip(np.rint(random.normal(3, 1, (rows0, 3))), 0, 15).astype(np.int32)
    x1 = np.clip(np.rint(random.normal(11, 1, (rows1, 3))), 0, 15).astype(np.int32)
    return x0, x1


@pytest.fixture(scope="module")
def training():
    return ends(0, 200, 250)


@pytest.fixture(scope="module")
def held_out():
    return ends(1, 90, 110)


@pytest.fixture(scope="module")
def solvers(training):
    options = {"gamma": 0.2, "num_categories": 16}
    return [
        bm.FeatureWise().fit(*training, **options),
        bm.DLightSB(**QUICK).fit(*training, **options),
        bm.Independent().fit(*training, **options),
    ]


@pytest.fixture(scope="module")
def found(held_out, solvers):
    return bm.compare_on(*held_out, solvers, seed=3)


def test_scores_of_every_solver(found, solvers):
    assert found.names == ["feature-wise", "dlightsb", "independent"]
    bridge, rows = found.scores("feature-wise"), found.scores("independent")
    assert bridge["held_out_objective"]["standard_error"] > 0
    assert rows["held_out_objective"]["missing"].startswith("it is no bridge")
    assert rows["copies"]["value"] == 1.0 > rows["copies"]["beside"]
    assert 0 < bridge["shape_score"]["value"] <= 1
    assert list(bridge) == list(found.scores("dlightsb"))
    assert bridge.keys() == found["meanings"].keys()
    assert found["compared_rows"] == 90 and found["seed"] == 3


def test_differences_are_of_bridges(found):
    there = found.difference("feature-wise", "dlightsb")
    back = found.difference("dlightsb", "feature-wise")
    assert there.mean == -back.mean and there.half_width == back.half_width > 0
    values = [found.scores(n)["held_out_objective"]["value"] for n in ("feature-wise", "dlightsb")]
    assert there.mean == pytest.approx(values[0] - values[1])
    with pytest.raises(ValueError, match="must be two bridges"):
        found.difference("feature-wise", "independent")
    with pytest.raises(ValueError, match="name must be one of feature-wise, dlightsb"):
        found.difference("feature-wise", "none")


def test_prints_and_turns_into_data(found):
    text = repr(found)
    assert "90 rows of x0 and 110 of x1" in text and str(found) == text
    assert "Held-out objective, nats." in text
    record = found.to_dict()
    assert json.loads(json.dumps(record)) == record
    record["runs"].clear()
    assert len(found["runs"]) == 3
    table = found.table()
    assert len(table) == 3 * len(found["meanings"])
    assert table.where(solver="independent", score="copies")[0]["value"] == 1.0
    assert "<table" in found._repr_html_()
    pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert frame.loc["copies", "independent"] == 1.0
    assert math.isnan(frame.loc["held_out_objective", "independent"])


def test_a_first_look(found):
    brief = found.brief()
    assert [row["solver"] for row in brief] == [*found.names, "beside"]
    scores = found.scores("dlightsb")
    assert brief[1]["shape_score"] == scores["shape_score"]["value"]
    assert brief[3]["shape_score"] == scores["shape_score"]["beside"]
    assert brief[2]["held_out_objective"] is None and brief[3]["held_out_objective"] is None
    assert brief.columns == ["solver", *bm._own_data._BRIEF_SCORES]
    assert found.brief("moved").columns == ["solver", "moved"]
    with pytest.raises(ValueError, match="score must be one of held_out_objective, "):
        found.brief("joint_kl")


def test_the_seed_decides_and_the_command_line_agrees(
    found, held_out, solvers, tmp_path, command_line
):
    def scores(comparison):
        return [(run["name"], run["scores"]) for run in comparison["runs"]]

    assert scores(bm.compare_on(*held_out, solvers, seed=3)) == scores(found)
    assert scores(bm.compare_on(*held_out, solvers, seed=4)) != scores(found)
    arguments = ["evaluate", "--seed", 3]
    for name, states in zip(("x0", "x1"), held_out):
        np.save(tmp_path / f"{name}.npy", states)
        arguments += [f"--{name}", tmp_path / f"{name}.npy"]
    for solver in solvers:
        solver.save(tmp_path / solver.name)
        arguments += ["--run", tmp_path / solver.name]
    printed = command_line.json(*arguments)
    assert [run["scores"] for run in printed["runs"]] == [own for _, own in scores(found)]


def test_names(held_out, solvers):
    first = solvers[0]
    twice = bm.compare_on(*held_out, [first, first.coupling])
    assert twice.names == ["feature-wise", "feature-wise 2"]
    assert twice.difference("feature-wise", "feature-wise 2") == (0.0, 0.0)
    assert bm.compare_on(*held_out, [first], names=["mine"]).names == ["mine"]
    for names in (["one", "two"], "m"):
        with pytest.raises(ValueError, match="names must be 1, one for each solver"):
            bm.compare_on(*held_out, [first], names=names)
    for name in ("", " ", "two\nlines"):
        with pytest.raises(ValueError, match="a name must be a line of text, got "):
            bm.compare_on(*held_out, [first], names=[name])
    with pytest.raises(ValueError, match="got 'same' twice"):
        bm.compare_on(*held_out, [first, first], names=["same", "same"])


def test_solvers_of_ones_own(held_out, solvers):
    class Shift:
        num_steps = 2

        def sample(self, x0, seed):
            return np.minimum(x0 + 8, 15)

        def log_transition_marginals(self, x, num_steps, n):
            probabilities = np.full((*x.shape, 16), 0.1 / 15)
            np.put_along_axis(probabilities, np.minimum(x + 4, 15)[..., None], 0.9, axis=2)
            return np.log(probabilities)

    mixed = bm.compare_on(*held_out, [solvers[0], Shift(), lambda x0: x0])
    assert mixed.names == ["feature-wise", "Shift", "<lambda>"]
    shift, still = mixed.scores("Shift"), mixed.scores("<lambda>")
    assert shift["bridge_distance"]["note"] == "from feature-wise"
    assert shift["bridge_distance"]["value"] > 0
    assert shift["copies"]["missing"] == "its training rows are not known"
    assert still["changed"]["value"] == 0
    assert still["shape_score"]["value"] < shift["shape_score"]["value"]
    alone = bm.compare_on(*held_out, [lambda x0: x0], num_categories=20)
    assert alone["num_categories"] == 20


def test_a_run_of_a_pair(pair):
    solver = bm.FeatureWise().fit(pair, samples=100)
    found = bm.compare_on(*pair.training_set(80, index=1), [solver, bm.Reference().fit(pair)])
    assert found["runs"][0]["training_x0_rows"] == 100
    assert found["runs"][1]["trained_on_endless_draws"]


def test_training_rows_warn(training, solvers):
    with pytest.warns(UserWarning, match="the very rows it was trained on; its objective"):
        bm.compare_on(*training, solvers[:1])


def test_ends_in_the_wrong_order_warn(held_out, solvers):
    with pytest.warns(UserWarning, match="look like the x1 it was trained on"):
        bm.compare_on(*reversed(held_out), solvers[:1])


def test_bad_arguments(held_out, solvers):
    x0, x1 = held_out
    with pytest.raises(TypeError, match="solvers must be a sequence of fitted solvers"):
        bm.compare_on(x0, x1, solvers[0])
    with pytest.raises(TypeError, match="solvers must be fitted"):
        bm.compare_on(x0, x1, [bm.DLightSB])
    with pytest.raises(RuntimeError, match="must be fitted first"):
        bm.compare_on(x0, x1, [bm.DLightSB()])
    with pytest.raises(TypeError, match="solvers must be fitted solvers or couplings"):
        bm.compare_on(x0, x1, [3])
    with pytest.raises(ValueError, match="there must be a run"):
        bm.compare_on(x0, x1, [])
    with pytest.raises(ValueError, match="D = 3 and the rows must have as many columns, got 2"):
        bm.compare_on(x0[:, :2], x1[:, :2], solvers)
    with pytest.raises(ValueError, match="x0 must hold categories 0..15, got "):
        bm.compare_on(x0 + 16, x1, solvers)
    with pytest.raises(ValueError, match="x0 must have an integer dtype"):
        bm.compare_on(x0 / 2, x1, solvers)
    with pytest.raises(ValueError, match=r"x0 must have shape \[rows, D\], got \(90,\)"):
        bm.compare_on(x0[:, 0], x1, solvers)
    with pytest.raises(ValueError, match="num_categories must be that of the fitted solvers, 16, "):
        bm.compare_on(x0, x1, solvers, num_categories=20)


def test_writes_a_page(held_out, solvers, tmp_path):
    page = tmp_path / "page.html"
    found = bm.compare_on(*held_out, solvers[:1], report=page)
    assert "<!doctype html>" in page.read_text() and "<svg " in page.read_text()
    assert found.names == ["feature-wise"]
    words = [f"word{s}" for s in range(16)]
    bm.compare_on(*held_out, solvers[:1], report=page, vocabulary=words)
    assert "word11" in page.read_text()
    with pytest.raises(ValueError, match="must have a line for each of the 16 categories, got 3"):
        bm.compare_on(*held_out, solvers[:1], report=page, vocabulary=words[:3])
    with pytest.raises(ValueError, match="vocabulary must be a list of words, one for each"):
        bm.compare_on(*held_out, solvers[:1], vocabulary=words)
    for wrong in ([], range(16), 3):
        with pytest.raises(ValueError, match="vocabulary must be a list of words, one for each"):
            bm.compare_on(*held_out, solvers[:1], report=page, vocabulary=wrong)
    with pytest.raises(OSError, match="its folder is not there"):
        bm.compare_on(*held_out, solvers[:1], report=tmp_path / "none" / "page.html")
