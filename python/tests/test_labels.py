"""Rows with labels: fit, draw and compare with a condition."""

import pickle

import numpy as np
import pytest

import bridgemark as bm

LABELS = (2, 5)


def ends(seed, rows0, rows1):
    """Low rows and high ones, of label 5 higher than of label 2."""
    random = np.random.default_rng(seed)
    labels0, labels1 = (random.choice(LABELS, rows) for rows in (rows0, rows1))
    x0 = np.clip(np.rint(random.normal(3, 1, (rows0, 3))), 0, 15).astype(np.int32)
    x1 = np.rint(random.normal(np.where(labels1 == 2, 8, 12)[:, None], 1, (rows1, 3)))
    return x0, np.clip(x1, 0, 15).astype(np.int32), labels0, labels1


FIT = {"gamma": 0.2, "num_categories": 16, "seed": 1}


@pytest.fixture(scope="module")
def rows():
    return ends(0, 200, 250)


@pytest.fixture(scope="module")
def solver(rows):
    x0, x1, *labels = rows
    return bm.FeatureWise().fit(x0, x1, condition=labels, **FIT)


def test_answers_keep_their_label(solver, rows):
    x0, _, labels0, _ = rows
    x1 = solver.sample(x0, seed=3, condition=labels0)
    assert abs(x1[labels0 == 2].mean() - 8) < 1 and abs(x1[labels0 == 5].mean() - 12) < 1
    assert np.array_equal(x1, solver.by_label.sample(x0, labels0, seed=3))
    paths = solver.sample_trajectory(x0, 8, seed=3, condition=labels0)
    assert paths.shape == (200, 9, 3) and np.array_equal(paths[:, 0], x0)
    log_q = solver.log_conditional(x0, x1, condition=labels0)
    for label in LABELS:
        of_label = labels0 == label
        own = solver.by_label[label].log_conditional(x0[of_label], x1[of_label])
        assert np.array_equal(log_q[of_label], own)
    back = solver.by_label.reversed().sample(x1, labels0, seed=3)
    assert abs(back.mean() - 3) < 1


def test_each_label_is_a_fit_of_its_rows(solver, rows):
    x0, x1, labels0, labels1 = rows
    assert list(solver.by_label) == list(LABELS) and len(solver.by_label) == 2
    alone = bm.FeatureWise().fit(x0[labels0 == 5], x1[labels1 == 5], **FIT)
    assert solver.by_label[5] == alone.coupling
    assert solver.by_label[2] != alone.coupling
    assert "labels 2, 5" in repr(solver.by_label) and "2 labels" in repr(solver)


def test_is_kept_and_read_back(solver, rows, tmp_path, command_line):
    x0, x1, *labels = rows
    solver.save(tmp_path / "run")
    for same in (
        bm.load_solver(tmp_path / "run"),
        bm.FeatureWise.load(tmp_path / "run"),
        pickle.loads(pickle.dumps(solver)),
    ):
        assert same.by_label == solver.by_label
    np.save(tmp_path / "x0.npy", x0)
    np.save(tmp_path / "labels.npy", labels[0])
    command_line(
        "sample", "--run", tmp_path / "run", "--given", tmp_path / "x0.npy",
        "--condition", tmp_path / "labels.npy", "--seed", 3, "-o", tmp_path / "x1.npy",
    )  # fmt: skip
    drawn = solver.sample(x0, seed=3, condition=labels[0])
    assert np.array_equal(np.load(tmp_path / "x1.npy"), drawn)
    again = bm.FeatureWise().fit(x0, x1, condition=labels, folder=tmp_path / "fit", **FIT)
    assert again.by_label == solver.by_label
    bm.FeatureWise().fit(x0, x1, condition=labels, folder=tmp_path / "fit", resume=True, **FIT)
    with pytest.raises(OSError, match="already holds a run"):
        solver.save(tmp_path / "run")


def test_compares_label_by_label(solver, rows):
    x0, x1, *labels = rows
    plain = bm.FeatureWise().fit(x0, x1, **FIT)
    new_x0, new_x1, *new_labels = ends(1, 90, 110)
    names = ["labels", "plain"]
    found = bm.compare_on(new_x0, new_x1, [solver, plain], condition=new_labels, names=names)
    assert found.difference("labels", "plain").mean > 0
    assert found.difference("labels", "plain").separated
    shares = [(new_labels[0] == label).mean() for label in LABELS]
    parts = [found.of_label(label) for label in LABELS]
    for score in ("held_out_objective", "shape_score", "changed"):
        values = [part.scores("labels")[score]["value"] for part in parts]
        assert found.scores("labels")[score]["value"] == pytest.approx(np.dot(shares, values))
    assert "Label by label" in str(found) and "Label by label" not in str(parts[0])
    assert parts[1]["x0_rows"] == (new_labels[0] == 5).sum()
    with pytest.raises(ValueError, match="label must be one of the condition, 2, 5, got 3"):
        found.of_label(3)


def test_the_log_names_the_label(rows):
    x0, x1, *labels = rows
    seen = []
    bm.DLightSB(components=4, updates=20, holdout=0).fit(
        x0, x1, condition=labels, on_log=seen.append, **FIT
    )
    assert {line["label"] for line in seen} == set(LABELS)


def test_bad_conditions(solver, rows):
    x0, x1, labels0, labels1 = rows
    with pytest.raises(TypeError, match="condition must be the labels of x0 and those of x1"):
        bm.FeatureWise().fit(x0, x1, condition=labels0)
    with pytest.raises(ValueError, match="a label must be one of both ends, got 2 of x1 and no"):
        bm.FeatureWise().fit(x0, x1, condition=(np.full(200, 5), labels1))
    with pytest.raises(ValueError, match=r"condition\[1\] must be integers \[n\], a label for"):
        bm.FeatureWise().fit(x0, x1, condition=(labels0, labels1 / 2))
    with pytest.raises(ValueError, match="must have a label for each of the 200 rows of x0, got 3"):
        bm.FeatureWise().fit(x0, x1, condition=(labels0[:3], labels1))
    with pytest.raises(ValueError, match="condition belongs to data"):
        bm.FeatureWise().fit("d2-uniform-0.01", condition=(labels0, labels1))
    with pytest.raises(ValueError, match="label must be one that was trained, 2, 5, got 3"):
        solver.sample(x0[:1], condition=[3])
    with pytest.raises(RuntimeError, match="has a coupling for each label: sample"):
        solver.sample(x0)
    for labelled in (solver, solver.by_label):
        with pytest.raises(ValueError, match="was trained with labels and needs a condition"):
            bm.compare_on(x0, x1, [labelled])
    with pytest.raises(RuntimeError, match="must be fitted with a condition"):
        bm.Independent().fit(x0, x1).sample(x0, condition=labels0)
