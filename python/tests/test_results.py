"""Results and tables: mappings, text, dicts, pandas; the published numbers."""

import json

import numpy as np
import pytest

import bridgemark as bm


@pytest.fixture(scope="module")
def result(pair):
    return bm.evaluate(pair, bm.Reference().fit(pair), num_seeds=2, num_trajectories=20)


def test_result_is_a_mapping_of_the_scores(result):
    assert result["shape_score"] == result.scores["shape_score"]
    assert list(result.scores)[:3] == ["shape_score", "trend_score", "trend_offdiagonal"]
    assert set(result.scores) == set(result["values"]) and "pair" not in result.scores
    assert len(result) == len(list(result)) and dict(result) == result.to_dict()


def test_result_prints_like_the_command_line(command_line, tmp_path, result):
    folder = tmp_path / "run"
    bm.Reference().fit(bm.load(result["pair"])).save(folder)
    printed = command_line(
        "evaluate", result["pair"], "--run", folder, "--seeds", 2, "--trajectories", 20
    )
    assert str(result).splitlines()[1:] == printed.splitlines()[1:]
    assert str(result).splitlines()[0] == "reference on d2-gaussian-0.02 (2 seeds)"


def test_result_prints_what_is_missing(pair):
    lines = str(bm.evaluate(pair, lambda x0: x0, label="identity")).splitlines()
    assert lines[0] == "identity on d2-gaussian-0.02 (1 seed)"
    reason = "a callable has no log_conditional(x0, x1)"
    assert f"  {'joint_kl':<32} {'-':>10}  {reason}" in lines


def test_result_turns_into_plain_values(result):
    values = result.to_dict()
    assert json.loads(json.dumps(values)) == values
    values["values"]["shape_score"].clear()
    assert len(result["values"]["shape_score"]) == 2  # a copy


def test_result_turns_into_a_frame(result):
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = result.to_pandas()
    assert list(frame.index) == list(result.scores)
    assert list(frame.columns) == ["mean", "standard_error"]
    assert frame.loc["joint_kl", "mean"] == result["joint_kl"]
    assert (frame.dtypes == "float64").all()


def test_infinite_is_told_from_missing(result):
    values = result.to_dict()
    values |= {"joint_kl": None, "infinite": ["joint_kl"], "shape_score": None}
    values["missing"] = {"shape_score": "a reason"}
    shown = bm.Result(values, "x")
    lines = [line.split() for line in str(shown).splitlines()]
    assert ["shape_score", "-", "a", "reason"] in lines
    assert any(line[:2] == ["joint_kl", "inf"] for line in lines)
    assert "<td>inf</td>" in shown._repr_html_()
    row = bm.compare([shown], "joint_kl", "shape_score")[0]
    assert row["joint_kl"] == float("inf") and row["shape_score"] is None


def test_labels(pair):
    def my_solver(x0):
        return x0

    answers = (pair.test_set()[0], np.repeat(pair.conditional_inputs()[:, None], 1000, axis=1))
    assert bm.evaluate(pair, my_solver).label == "my_solver"
    assert bm.evaluate(pair, answers).label == "answers"
    assert bm.evaluate(pair, bm.Oracle().fit(pair).coupling).label == "oracle"
    assert bm.evaluate(pair, bm.Oracle().fit(pair), label="truth").label == "truth"


def test_compare(pair, result):
    other = bm.evaluate(pair, lambda x0: x0)
    table = bm.compare({"reference": result, "same": other}, "shape_score", "joint_kl")
    assert table.columns == ["solver", "pair", "shape_score", "joint_kl"]
    assert [row["solver"] for row in table] == ["reference", "same"]
    assert table[1]["joint_kl"] is None and table[0]["joint_kl"] == result["joint_kl"]
    assert list(bm.compare([result])[0])[2:] == list(result.scores)
    with pytest.raises(ValueError, match="a score of 'reference' must be one of .* got 'shape'"):
        bm.compare([result], "shape")
    with pytest.raises(ValueError, match="labels of their own"):
        bm.compare([result, result])


def test_compare_with_ties(pair, result):
    oracle = bm.evaluate(pair, bm.Oracle().fit(pair))
    again = bm.evaluate(pair, bm.Oracle().fit(pair), seed=5)
    named = {"oracle": oracle, "again": again, "result": result}
    table = bm.compare(named, "conditional_shape_score", "joint_kl", "sb_perplexity", ties=True)
    assert table.columns == [
        "solver",
        "pair",
        "conditional_shape_score",
        "conditional_shape_score ties",
        "joint_kl",
        "joint_kl ties",
        "sb_perplexity",
    ]
    assert [row["joint_kl ties"] for row in table] == ["", "a", "b"]
    assert [row["conditional_shape_score ties"] for row in table] == ["", "a", "b"]
    del named["oracle"]
    named["other"] = bm.evaluate(bm.load("d2-gaussian-0.05"), lambda x0: x0)
    table = bm.compare(named, "joint_kl", ties=True)
    assert [row["joint_kl ties"] for row in table] == ["a", "b", ""]
    with pytest.raises(TypeError, match="ties must be"):
        bm.compare(named, "joint_kl", ties="yes")


def test_paired_difference(pair, result):
    oracle = bm.evaluate(pair, bm.Oracle().fit(pair))
    found = bm.paired_difference(oracle, result, "conditional_shape_score")
    gap = oracle["conditional_shape_score"] - result["conditional_shape_score"]
    assert found.mean == pytest.approx(gap, abs=1e-5)
    assert found.separated and 0 < found.half_width < abs(found.mean)
    assert bm.paired_difference(result, oracle, "conditional_shape_score").mean == -found.mean
    assert bm.paired_difference(oracle, oracle, "joint_kl") == (0.0, 0.0)
    assert not bm.paired_difference(oracle, oracle, "joint_kl").separated
    with pytest.raises(ValueError, match="score must be one of .*joint_kl.* got 'sb_perplexity'"):
        bm.paired_difference(oracle, result, "sb_perplexity")
    with pytest.raises(ValueError, match="must have a result each"):
        bm.paired_difference([], result, "joint_kl")
    with pytest.raises(TypeError, match="must be what evaluate returned"):
        bm.paired_difference([0.5], result, "joint_kl")
    fewer = bm.evaluate(pair, bm.Oracle().fit(pair), num_trajectories=500)
    with pytest.raises(ValueError, match="same number of inputs, at least 10, got 500 and 1000"):
        bm.paired_difference(oracle, fewer, "forward_trajectory_kl")
    rough = bm.evaluate(pair, bm.Oracle().fit(pair), conditional_samples=100)
    with pytest.raises(ValueError, match="same conditional_samples.* got 1000 and 100"):
        bm.paired_difference(oracle, rough, "conditional_shape_score")
    assert not bm.paired_difference(oracle, rough, "exact_conditional_shape_score").separated
    other = bm.load("d2-gaussian-0.05")
    with pytest.raises(ValueError, match="of one pair"):
        bm.paired_difference(oracle, bm.evaluate(other, bm.Oracle().fit(other)), "joint_kl")


def test_paired_difference_of_trainings(pair, result):
    solver = bm.DLightSB(components=4, updates=60)
    trainings = [bm.evaluate(pair, solver.fit(pair, seed=seed)) for seed in (1, 2, 3)]
    one = bm.paired_difference(trainings[0], result, "joint_kl")
    all_three = bm.paired_difference(trainings, [result], "joint_kl")
    mean = sum(t["joint_kl"] for t in trainings) / 3 - result["joint_kl"]
    assert all_three.mean == pytest.approx(mean, rel=1e-4)
    assert all_three.half_width > one.half_width


# --- tables


def test_table_prints_aligned_columns():
    table = bm.Table([{"name": "a", "value": 0.5}, {"name": "long", "value": None}])
    assert str(table) == "name    value\na     0.50000\nlong        -"
    assert repr(table) == str(table)


def test_table_keeps_the_digits_of_small_numbers():
    assert str(bm.Table([{"kl": 0.00041234}])).split() == ["kl", "0.000412"]
    assert str(bm.Table([{"kl": 1.5e-9}])).split() == ["kl", "1.50e-09"]


def test_table_is_a_sequence_of_copies():
    table = bm.Table([{"n": i} for i in range(100)])
    assert len(table) == 100 and table[-1] == {"n": 99} and len(table[:3]) == 3
    table[0]["n"] = 7
    assert table[0] == {"n": 0} and table.to_dicts()[:2] == [{"n": 0}, {"n": 1}]
    text = str(table).splitlines()
    assert text[-1] == "[100 rows]" and "..." in text[21] and len(text) == 43


def test_table_selects():
    table = bm.Table([{"a": 1, "b": 2}, {"a": 1, "b": 3}])
    assert table.where(a=1, b=3).to_dicts() == [{"a": 1, "b": 3}]
    assert str(table.where(a=2)) == "a  b"
    with pytest.raises(ValueError, match="column must be one of a, b, got 'c'"):
        table.where(c=1)


def test_table_turns_into_a_frame_and_html():
    table = bm.Table([{"name": "<a>", "value": 0.5}])
    assert "&lt;a&gt;" in table._repr_html_() and table._repr_html_().count("<tr>") == 2
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = table.to_pandas()
    assert list(frame.columns) == ["name", "value"] and frame["value"][0] == 0.5


def test_table_turns_into_the_forms_of_the_library():
    table = bm.Table([{"name": "a|b", "n": 2**64, "kl": 1 / 3}, {"name": "c", "n": 1, "kl": None}])
    assert table.to_csv() == f"name,n,kl\na|b,{2**64},{1 / 3}\nc,1,\n"
    assert table.to_markdown().splitlines() == [
        "| name | n | kl |",
        "| --- | ---: | ---: |",
        f"| a\\|b | {2**64} | 0.33333 |",
        "| c | 1 | - |",
    ]
    assert "a$|$b & 18446744073709551616 & 0.33333" in table.to_latex()
    assert len(bm.paper_results().to_csv().splitlines()) == 12 * 99 + 1


def test_missing_pandas_is_said(monkeypatch, result):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    for call in (result.to_pandas, bm.paper_results().to_pandas):
        with pytest.raises(ImportError, match="pip install pandas"):
            call()


# --- the published numbers


def test_paper_results_are_whole():
    table = bm.paper_results()
    assert len(table) == 12 * 99 and table.columns[-1] == "value"
    spread = {name for name in bm.presets() if name.endswith("-spread")}
    assert {row["pair"] for row in table} == spread and len(spread) == 12
    scores = {row["table"] for row in table} - {"reverse_c2st"}
    assert len(scores) == 6 and all(0 <= row["value"] for row in table)


def test_paper_results_select():
    row = {"table": "conditional_shape_score", "method": "DLightSB", "loss": None, "steps": None}
    for method in ("DLightSB", "dlightsb"):
        table = bm.paper_results("conditional_shape_score", method, "d2-gaussian-0.02-spread")
        assert table.to_dicts() == [{**row, "pair": "d2-gaussian-0.02-spread", "value": 0.948}]
    table = bm.paper_results(pair=bm.load("d64-uniform-0.01-spread"), loss="KL", steps=64)
    assert {row["method"] for row in table} == {"CSBM", "alpha-CSBM", "DLightSB-M"}
    assert (
        bm.paper_results("reverse_trajectory_kl", "alpha-csbm", steps=64, loss="mse")[0]["value"]
        == 0.5
    )
    assert bm.paper_results(method="feature-wise")[0]["method"] == "Feature-wise SB"
    assert {r["table"] for r in bm.paper_results(method="independent")} == {
        "shape_score",
        "trend_score",
        "conditional_shape_score",
        "conditional_trend_score",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"table": "shape"}, "table must be one of conditional_shape_score, .* got 'shape'"),
        ({"method": "dsbm"}, "method must be one of Independent, .* got 'dsbm'"),
        ({"pair": "d3"}, "pair must be one of d2-gaussian-0.02-spread, .* got 'd3'"),
        ({"pair": "d2-gaussian-0.02"}, "pair must be one of .* got 'd2-gaussian-0.02'"),
        ({"steps": 32}, "steps must be one of 16, 64, got '32'"),
    ],
)
def test_unknown_selections_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        bm.paper_results(**arguments)
