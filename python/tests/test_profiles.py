"""Seconds to a quality, on results that are written here."""

import json

import pytest

import bridgemark as bm


def line(method, pair, seconds, joint_kl, seed=0, **more):
    return {
        "method": method,
        "pair": pair,
        "dim": 2,
        "seed": seed,
        "loss": "",
        "num_steps": "",
        "options": {"updates": more.pop("updates", "100")},
        "data": {},
        "machine": "this",
        "device": "cpu",
        "threads": 2,
        "train_seconds": seconds,
        "scores": {"joint_kl": joint_kl},
    } | more


@pytest.fixture
def folder(tmp_path):
    def write(*lines):
        text = "".join(json.dumps(each) + "\n" for each in lines)
        (tmp_path / "results.jsonl").write_text(text, encoding="utf-8")
        return tmp_path

    return write


RUNS = [
    line("A", "p", 1.0, 0.0019),
    line("A", "p", 3.0, 0.0015, seed=1),
    line("A", "q", 2.0, 0.0021),
    line("A", "p", 10.0, 0.001, updates="200"),
    line("A", "q", 12.0, 0.001, updates="200"),
    line("B", "p", 6.0, 0.001),
    line("B", "q", 1.0, None),
    line("C", "p", 1.0, 0.001, data={"samples": 10}),
]


def seconds(table):
    return {(row["method"], row["pair"]): row["seconds"] for row in table}


def test_one_recipe_is_that_which_reaches_the_most_pairs(folder):
    table = bm.time_to_quality(folder(*RUNS))
    expected = {("A", "p"): 10.0, ("A", "q"): 12.0, ("B", "p"): 6.0, ("B", "q"): None}
    assert seconds(table) == expected
    assert table[0]["target"] == 0.002


def test_tuned_takes_the_fastest_for_each_pair_by_its_slowest_training(folder):
    table = bm.time_to_quality([folder(*RUNS)], recipe="tuned")
    assert seconds(table)["A", "p"] == 3.0
    assert seconds(table)["A", "q"] == 12.0
    assert seconds(bm.time_to_quality(folder(*RUNS), nats=1e-6))["A", "p"] is None


def test_profile(folder):
    profile = bm.performance_profile(bm.time_to_quality(folder(*RUNS)), within=(1, 2))
    assert profile.columns == ["method", "within 1", "within 2", "reached"]
    assert profile.to_dicts() == [
        {"method": "A", "within 1": 0.5, "within 2": 1.0, "reached": 1.0},
        {"method": "B", "within 1": 0.5, "within 2": 0.5, "reached": 0.5},
    ]


def test_bad_input_is_refused(folder):
    with pytest.raises(ValueError, match="of one machine"):
        bm.time_to_quality(folder(RUNS[0], line("A", "p", 1.0, 0.1, machine="that")))
    with pytest.raises(ValueError, match="nats must be above 0"):
        bm.time_to_quality(folder(*RUNS), nats=0)
    with pytest.raises(ValueError, match="recipe must be"):
        bm.time_to_quality(folder(*RUNS), recipe="best")
    with pytest.raises(ValueError, match="factors from 1 on"):
        bm.performance_profile(bm.time_to_quality(folder(*RUNS)), within=(0.5,))
