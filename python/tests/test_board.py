"""Submissions and the board from Python, as the command line has them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import bridgemark as bm

PAIR = "d2-gaussian-0.02-spread"
BLANKS = {
    'authors = [""]': 'authors = ["A. Author"]',
    'revision = ""': 'revision = "4f2c1d0"',
    'object = ""': 'object = "mine.solver:Mine"',
    'description = ""': 'description = "Stays where it is."',
    'date = ""': "date = 2026-11-16",
    'command = ""': 'command = "python -m mine"',
    'hardware = ""': 'hardware = "two cores"',
}


def fill_blanks(folder):
    path = folder / "solver.toml"
    text = path.read_text(encoding="utf-8")
    for blank, filled in BLANKS.items():
        assert blank in text
        text = text.replace(blank, filled)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def submission(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submissions") / "mine"
    result = bm.evaluate(PAIR, lambda x0: x0, label="Mine", submission=folder, training_seconds=2)
    fill_blanks(folder)
    return folder, result


def test_an_object_of_ones_own_is_submitted_and_checked(submission):
    folder, result = submission
    table = bm.check_submission(folder)
    found = {row["score"]: row["value"] for row in table}
    assert {row["method"] for row in table} == {"Mine"}
    assert found["conditional_shape_score"] == result["conditional_shape_score"]
    assert found["joint_kl"] is None


def test_a_solver_with_probabilities_has_its_joint_kl(tmp_path):
    pair = bm.load(PAIR)
    solver = bm.FeatureWise().fit(pair)
    folder = tmp_path / "mine"
    kept = bm.evaluate(
        pair, solver, label="Mine", submission=folder, training_seed=3, training_seconds=1.5
    )
    fill_blanks(folder)
    rows = bm.check_submission(folder).where(score="joint_kl")
    assert rows[0]["value"] == kept["joint_kl"] and rows[0]["seed"] == 3
    assert kept["joint_kl"] == pytest.approx(bm.evaluate(pair, solver)["joint_kl"], abs=1e-9)


def test_what_was_changed_is_refused(submission, tmp_path):
    folder = shutil.copytree(submission[0], tmp_path / "copy")
    path = next(folder.glob("*/pred_x1.npy"))
    np.save(path, np.zeros((20, 2), np.int32))
    (folder / "setup.py").write_text("raise SystemExit")
    with pytest.raises(ValueError, match="tampered") as refused:
        bm.check_submission(folder)
    assert len(str(refused.value).splitlines()) == 2
    with pytest.raises(OSError, match="setup.py"):
        bm.board([], tmp_path / "board", submissions=folder)
    assert not (tmp_path / "board").exists()


def test_a_board_is_written(submission, tmp_path):
    files = bm.board([], tmp_path / "board", submissions=[submission[0]])
    assert [path.name for path in files] == ["board.csv", "board.json", "index.html"]
    data = json.loads(Path(files[1]).read_text(encoding="utf-8"))
    assert data["sources"][0]["submission"]["object"] == "mine.solver:Mine"


def test_arguments_are_refused_by_their_name(tmp_path):
    with pytest.raises(ValueError, match="submission needs training_seconds"):
        bm.evaluate(PAIR, lambda x0: x0, label="Mine", submission=tmp_path / "x")
    with pytest.raises(ValueError, match="label must name the solver"):
        bm.evaluate(PAIR, lambda x0: x0, submission=tmp_path / "x", training_seconds=1)
    with pytest.raises(ValueError, match="one of add_to and submission"):
        bm.evaluate(PAIR, lambda x0: x0, label="M", submission=tmp_path / "x", add_to=tmp_path)
    with pytest.raises(TypeError, match="results must be a str or os.PathLike"):
        bm.board([3], tmp_path / "board")
    with pytest.raises(ValueError, match="must be results on presets"):
        bm.board([], tmp_path / "board")
    assert not any(tmp_path.iterdir())


def test_a_submission_is_asked_anew(submission, tmp_path):
    folder, new = submission[0], tmp_path / "new"
    bm.check_submission(folder, ask=new, seed=7)
    kit = next(new.iterdir())
    assert np.load(kit / "conditional_x0.npy").shape == (157, 2)
    answered = bm.evaluate(PAIR, lambda x0: x0, answer=kit)
    assert 0 < answered["shape_score"] < 1
    bm.check_submission(folder, answers=new, seed=7)
    bm.evaluate(PAIR, lambda x0: 49 - x0, answer=kit)
    with pytest.raises(ValueError, match="not of the solver of the submission"):
        bm.check_submission(folder, answers=new, seed=7)
    with pytest.raises(ValueError, match="one of ask and answers"):
        bm.check_submission(folder, ask=new, answers=new)
