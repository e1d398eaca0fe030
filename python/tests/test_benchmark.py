"""The report card of a solver, scores of a user's own, and signatures of all that is public."""

import inspect
import math

import numpy as np
import pytest

import bridgemark as bm
from bridgemark import _progress

PAIR = "d2-uniform-0.01-spread"


@pytest.fixture(scope="module")
def card():
    return bm.benchmark(bm.Independent(), pairs=[PAIR, "d64-gaussian-0.02"], budget=0.01)


def test_a_card_has_the_first_pair_and_what_the_budget_left_out(card):
    (row,) = card["rows"]
    assert row["pair"] == PAIR
    assert abs(row["share"]) < 0.02  # it is one of the two bounds
    assert card["not_run"] == ["d64-gaussian-0.02"]
    assert "no room for d64-gaussian-0.02" in str(card)
    assert card.table()[0]["pair"] == PAIR
    assert card.to_dict()["rows"][0]["scores"]["joint_kl"] == row["joint_kl"]


def test_a_card_stands_beside_the_published_methods(card, tmp_path):
    table = card.beside_published()
    own = table[-1]
    assert own == {"method": "independent", PAIR: card["rows"][0]["conditional_shape_score"]}
    published = bm.paper_results("conditional_shape_score", "dlightsb", PAIR)[0]["value"]
    assert next(row for row in table if row["method"] == "DLightSB")[PAIR] == published
    assert "\\toprule" in card.to_latex()
    page = card.to_html(tmp_path / "card.html")
    assert (tmp_path / "card.html").read_text(encoding="utf-8") == page
    assert PAIR in page


def test_a_card_of_the_truth_goes_all_the_way():
    class Truth:
        def fit(self, pair):
            return bm.Oracle().fit(pair)

    (row,) = bm.benchmark(Truth(), pairs=[PAIR], label="<b>truth</b>")["rows"]
    assert row["joint_kl"] == 0.0
    assert row["share"] == pytest.approx(1.0, abs=0.01)


def test_a_function_of_a_pair_is_a_solver():
    metrics = {"moved": lambda x0, x1, drawn: (x0 != drawn).mean()}
    card = bm.benchmark(
        lambda pair: lambda x: x, pairs=[PAIR], label="<b>same</b>", metrics=metrics
    )
    assert card["metrics"] == ["moved"] and card.table()[0]["moved"] == 0.0
    assert "moved" in card.to_html()
    assert card["rows"][0]["joint_kl"] is None
    assert card["rows"][0]["share"] < 0
    assert "<b>same" not in card.to_html()


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("5min", 300), ("1.5 h", 5400), (7, 7)])
def test_budgets(text, seconds):
    assert bm._benchmark._seconds(text) == seconds


@pytest.mark.parametrize("budget", ["5 weeks", "", 0, -1, math.nan, "1..5s"])
def test_bad_budgets_are_refused(budget):
    with pytest.raises(ValueError, match="budget"):
        bm.benchmark(bm.Independent(), budget=budget)


def test_progress_says_which_pair_and_what_of_it():
    told = []
    solver = bm.DLightSB(components=4, updates=50)
    bm.benchmark(solver, pairs=[PAIR], progress=lambda *report: told.append(report))
    assert told[0][:3] == ("benchmark", 0, 1) and told[0][3].startswith(f"{PAIR}, ")
    assert {what for what, *_ in told[1:]} >= {f"{PAIR}, dlightsb", f"{PAIR}, conditional scores"}
    with pytest.raises(TypeError, match="progress must be True, False or a callable"):
        bm.benchmark(solver, pairs=[PAIR], progress="yes")


def test_progress_waits_for_nothing_where_a_call_takes_long(capsys):
    bm.benchmark(bm.Independent(), pairs=[PAIR], progress=True)
    assert capsys.readouterr().err.startswith(f"benchmark: 0 of 1, {PAIR}")


def test_a_metric_hides_no_column_of_the_card():
    with pytest.raises(ValueError, match="no column of the card, got 'share'"):
        bm.benchmark(bm.Independent(), metrics={"share": lambda *_: 0.0})


class Unmoved:
    """A solver whose fit returns nothing."""

    def fit(self, pair):
        self.dim = pair.dim

    def sample(self, x0, seed):
        return x0


class OfExperiments:
    options = {"shift": bm.Option(1), "sign": -1}

    def fit(self, x0, x1, reference, options, run):
        assert x1 is None and reference == x0.reference and run.seed == 7
        return lambda states: (states + options["shift"] + options["sign"]) % run.num_categories


@pytest.mark.parametrize("solver", [Unmoved, Unmoved(), OfExperiments, OfExperiments()])
def test_classes_and_objects_are_trained_on_each_pair(solver):
    card = bm.benchmark(solver, pairs=[PAIR], seed=7)
    same = bm.benchmark(lambda pair: lambda x: x, pairs=[PAIR], seed=7)
    assert card["rows"][0]["scores"] == same["rows"][0]["scores"]
    assert card["label"] in ("Unmoved", "OfExperiments")


def test_a_class_of_the_library_has_its_defaults():
    (row,) = bm.benchmark(bm.Independent, pairs=[PAIR])["rows"]
    assert abs(row["share"]) < 0.02


def test_what_is_no_solver_is_refused():
    for wrong in (3, "dlightsb", None):
        with pytest.raises(TypeError, match="solver must be"):
            bm.benchmark(wrong)
    with pytest.raises(TypeError, match="a class must have fit.pair., got dict"):
        bm.benchmark(dict)

    class Needs(Unmoved):
        def __init__(self, rate):
            self.rate = rate

    with pytest.raises(TypeError, match=r"got Needs: .*bm.benchmark\(Needs\(...\)\)"):
        bm.benchmark(Needs, pairs=[PAIR])
    with pytest.raises(TypeError, match="must return what evaluate takes.* got list"):
        bm.benchmark(lambda pair: [pair.dim], pairs=[PAIR])


class Sampler:
    def sample(self, x0, seed):
        return x0


@pytest.mark.parametrize(
    "fitted",
    [
        lambda x: x,
        lambda x: x[:, ::-1],
        lambda x: np.flip(x, axis=1),
        lambda x: np.zeros_like(x),
        Sampler(),
        bm.Independent().fit(PAIR).coupling,
        (np.zeros((20000, 2), int), np.zeros((157, 1000, 2), int)),
    ],
)
def test_what_is_fitted_already_is_told_how_to_be_wrapped(fitted):
    with pytest.raises(TypeError, match=r"of one pair; .*bm.benchmark\(lambda pair: train"):
        bm.benchmark(fitted, pairs=[PAIR])


def test_a_fault_of_a_training_stays_what_it_is():
    with pytest.raises(ZeroDivisionError):
        bm.benchmark(lambda pair: 1 // 0, pairs=[PAIR])


def test_metrics_stand_beside_the_scores():
    seen = []

    def distance(x0, x1, drawn):
        seen.append((x0.shape, x1.shape, drawn.shape))
        return np.abs(x1 - drawn).mean()

    def moved(x0, _, drawn):
        return (x0 != drawn).mean()

    oracle = bm.Oracle().fit(PAIR)
    result = bm.evaluate(
        PAIR, oracle, num_seeds=2, particles=0, metrics={"distance": distance, "moved": moved}
    )
    assert seen == [((20000, 2),) * 3] * 2
    x0 = bm.load(PAIR).test_set()[0]
    expected = [(x0 != oracle.sample(x0, seed)).mean() for seed in (0, 1)]
    assert result["values"]["moved"] == expected
    assert result["moved"] == pytest.approx(np.mean(expected))
    assert result["standard_errors"]["moved"] == pytest.approx(abs(expected[0] - expected[1]) / 2)
    assert list(result.scores)[-2:] == ["distance", "moved"]
    assert "distance" in str(result)
    assert bm.compare([result], "moved")[0]["moved"] == result["moved"]
    still = bm.evaluate(PAIR, lambda x: x, metrics={"moved": moved})
    assert still["moved"] == 0 and still["standard_errors"]["moved"] is None


@pytest.mark.parametrize(
    ("metrics", "more", "match"),
    [
        ([len], {}, "must be a dict"),
        ({"a b": len}, {}, "must be a word"),
        ({"joint_kl": lambda *_: 0.0}, {}, "must be a new one"),
        ({"bad": lambda *_: math.nan}, {}, "finite"),
        ({"number": 3}, {}, "must be a function"),
        ({"größe": lambda *_: 0.0}, {}, "letters of ASCII"),
        ({"fine": lambda *_: 0.0}, {"submission": "folder"}, "got submission"),
    ],
)
def test_bad_metrics_are_refused(metrics, more, match):
    with pytest.raises((ValueError, TypeError), match=match):
        bm.evaluate(PAIR, lambda x: x, metrics=metrics, label="mine", **more)


def test_everything_public_has_a_signature():
    for name in bm.__all__:
        value = getattr(bm, name)
        if not callable(value):
            continue
        inspect.signature(value)
        members = vars(value).items() if inspect.isclass(value) else ()
        for member, content in members:
            if callable(content) and not member.startswith("_"):
                inspect.signature(content)
    assert list(inspect.signature(bm.load).parameters) == ["name_or_folder"]
    pair = bm.load(PAIR)
    assert list(inspect.signature(pair.sample_x0).parameters) == ["n", "seed"]
    assert inspect.signature(bm.build_pair).parameters["num_components"].default == 4


def test_progress_says_how_long_it_goes_on(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    printer = _progress._Printer()
    assert printer._left("work", 0, 100) == ""
    now[0] = 10.0
    assert printer._left("work", 25, 100) == ", 30 s left"
    assert printer._left("other", 1, 100) == ""
