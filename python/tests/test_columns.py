"""Tables whose columns differ: frames and mappings in, the same columns out."""

import math
import re

import numpy as np
import pytest
from pausing import pausing

import bridgemark as bm


def table(rows, later, seed):
    draw = np.random.default_rng(seed)
    a = draw.integers(0, 2, rows)
    b = a if later else draw.integers(0, 2, rows)
    return {
        "a": [bool(x) for x in a],
        "b": ["left" if x else "NA" for x in b],
        "n": [int(x) for x in draw.integers(0, 12, rows)],
        "x": [None if draw.random() < 0.1 else round(float(v), 3) for v in draw.normal(0, 1, rows)],
    }


@pytest.fixture(scope="module")
def ends():
    return table(500, False, 1), table(500, True, 2)


@pytest.fixture(scope="module")
def columns(ends):
    return bm.Columns(*ends, {"a": "binary", "b": {}, "n": "count", "x": {"bins": 8}})


@pytest.fixture(scope="module")
def bridge(columns, ends):
    return columns.fit(*ends, seed=1, updates=200, components=4)


def test_columns_are_found_and_fixed(columns, tmp_path, ends):
    text = str(columns)
    assert "kind = 'count'" in text or 'kind = "count"' in text
    columns.save(tmp_path / "columns.toml")
    assert str(bm.Columns(*ends, tmp_path / "columns.toml")) == text
    assert "NA" in text and text.count("missing = true") == 1


def test_answers_have_the_columns_that_were_given(bridge, ends):
    answers = bridge.sample(ends[0], seed=3)
    assert list(answers) == ["a", "b", "n", "x"]
    assert {type(value) for value in answers["n"]} == {int}
    assert set(answers["b"]) == {"left", "NA"}
    assert None in answers["x"] and any(isinstance(value, float) for value in answers["x"])
    together = np.mean([a == (b == "left") for a, b in zip(answers["a"], answers["b"])])
    assert together > 0.9
    assert answers == bridge.sample(ends[0], seed=3)
    logs = bridge.log_conditional(ends[0], answers)
    assert logs.shape == (500,) and (logs < 0).all()


def test_conditional_sums_to_one(columns, ends):
    ends = [{key: rows[key] for key in ("a", "b")} for rows in ends]
    bridge = bm.Columns(*ends).fit(*ends, updates=20, components=2)
    one = {"a": [True], "b": ["left"]}
    total = sum(
        math.exp(bridge.log_conditional(one, {"a": [a], "b": [b]})[0])
        for a in (True, False)
        for b in ("left", "NA")
    )
    assert total == pytest.approx(1.0, abs=1e-12)


def test_frames_come_back_as_frames(bridge, ends):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ends[0])
    answers = bridge.sample(frame, seed=3)
    assert list(answers.columns) == list(frame.columns)
    assert answers["a"].dtype == bool and answers["n"].dtype.kind == "i"
    assert answers["x"].isna().any() and answers["x"].dtype == float


def test_runs_are_kept_and_compared(columns, ends, tmp_path):
    kept = columns.fit(*ends, seed=1, updates=40, components=2, output=tmp_path / "run")
    loaded = bm.TableBridge.load(tmp_path / "run")
    assert loaded.sample(ends[0], seed=1) == kept.sample(ends[0], seed=1)
    assert loaded.columns == str(columns) and loaded.diagnostics["components"] == 2
    new = table(300, False, 5), table(300, True, 6)
    other = columns.fit(*ends, seed=1, updates=5, components=2)
    found = loaded.compare_on(*new, {"other": other})
    assert found.names == ["bridge", "other"]
    assert found.difference("bridge", "other").mean > 0
    with pytest.warns(UserWarning, match="trained on"):
        loaded.compare_on(*ends)
    loaded.compare_on(*new, {"other": other}, report=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "".join(f"<th>{name}</th>" for name in new[0]) in page and "<svg " not in page
    with pytest.raises(ValueError, match="others must have names other than 'bridge'"):
        loaded.compare_on(*new, {"bridge": other})
    with pytest.raises(TypeError, match="others must be a mapping from names to TableBridge, got"):
        loaded.compare_on(*new, {"other": 3})
    with pytest.raises(OSError, match="the page must be a file, got a folder"):
        loaded.compare_on(*new, report=tmp_path)


def test_frames_keep_their_kinds_of_values(ends):
    pandas = pytest.importorskip("pandas")
    rows = 60
    draw = np.random.default_rng(1)
    stages = pandas.CategoricalDtype(["new", "known", "friend"], ordered=True)
    frame = pandas.DataFrame(
        {
            "code": [f"{i:02d}" for i in draw.integers(0, 12, rows)],
            "stage": pandas.Series(draw.choice(["new", "friend"], rows), dtype=stages),
            "flag": pandas.array(draw.choice([0, 1], rows), dtype="Int64"),
            "text": draw.choice(["1", "2", "x"], rows),
        }
    )
    frame.loc[0, "flag"] = pandas.NA
    other = frame.assign(flag=frame["flag"].astype(float))  # 1.0 where the other has 1
    columns = bm.Columns(frame, other)
    kinds = re.findall(r"kind = .(\w+).", str(columns))
    assert kinds == ["unordered", "ordered", "binary", "unordered"]
    assert re.search("values = . .new., .known., .friend. .", str(columns))
    assert re.search("values = . .0., .1. .", str(columns))
    assert str(columns).count("missing = true") == 1
    answers = columns.fit(frame, other, updates=20, components=2).sample(frame, seed=1)
    assert answers["stage"].dtype == stages
    assert set(answers["code"]) <= set(frame["code"]) and set(answers["text"]) <= {"1", "2", "x"}
    assert answers["flag"].dtype.kind == "f" and set(answers["flag"].dropna()) == {0, 1}


def test_frames_with_slips_are_refused(ends):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ends[0])
    twice = pandas.concat([frame, frame[["n"]]], axis=1)
    with pytest.raises(ValueError, match="names of x0's columns must differ, got 'n' twice"):
        bm.Columns(twice, frame)
    with pytest.raises(ValueError, match="column 'x' must hold values, got none"):
        bm.Columns(frame.assign(x=np.nan), frame.assign(x=None))
    with pytest.raises(OSError, match="x0: it must have rows, got none"):
        bm.Columns(frame.iloc[:0], frame)
    with pytest.raises(OSError, match="x1: it must have a column 'b'"):
        bm.Columns(frame, frame.drop(columns="b"))
    with pytest.raises(ValueError, match="column 'x' must hold numbers or be given its kind"):
        bm.Columns(frame.assign(x=[np.inf] + [float(i) for i in range(499)]), frame)
    # A missing field where the training had none.
    bridge = bm.Columns(frame, frame).fit(frame, frame, updates=5, components=1)
    gap = frame.assign(n=frame["n"].astype(float))
    gap.loc[3, "n"] = np.nan
    with pytest.raises(OSError, match="x0: line 5: column 'n' must hold a number, got nothing"):
        bridge.sample(gap)


def test_a_stopped_fit_goes_on(columns, ends, tmp_path):
    options = {"seed": 1, "updates": 150, "components": 2, "checkpoint_every": 0.01}
    whole = columns.fit(*ends, **options, output=tmp_path / "whole")

    class Stopped(Exception):
        pass

    def stop(stage, done, total, remaining):
        if done > 30:
            raise Stopped

    with pytest.raises(Stopped):
        columns.fit(*ends, **options, output=tmp_path / "run", progress=pausing(stop))
    with pytest.raises(OSError, match="not complete"):
        bm.TableBridge.load(tmp_path / "run")
    resumed = columns.fit(*ends, **options, output=tmp_path / "run", resume=True)
    assert resumed.sample(ends[0], seed=2) == whole.sample(ends[0], seed=2)
    with pytest.raises(OSError, match="already holds a run"):
        columns.fit(*ends, **options, output=tmp_path / "run")


def test_refusals_name_what_was_wrong(columns, ends, bridge):
    with pytest.raises(TypeError, match="x0 must be a pandas.DataFrame"):
        columns.fit(3, ends[1])
    with pytest.raises(ValueError, match="equally long"):
        bridge.sample({"a": [True], "b": [], "n": [1], "x": [0.1]})
    with pytest.raises(OSError, match="x0: line 2: column 'b' must hold one of its 2 values"):
        bridge.sample({"a": [True], "b": ["up"], "n": [1], "x": [0.1]})
    with pytest.raises(ValueError, match="unknown|source"):
        columns.fit(*ends, source="none")
    with pytest.raises(OSError, match="'kind' must be ordered"):
        bm.Columns(*ends, {"a": "even"})
    with pytest.raises(OSError, match="'n' twice"):
        bm.Columns(*ends, ["n", "n"])
    with pytest.raises(OSError, match="it must have a column 'z'"):
        bm.Columns(*ends, ["z"])
    with pytest.raises(FileNotFoundError):
        bm.Columns(*ends, "no-such-columns.toml")
