"""What is refused in Python is refused in its words: one line, the argument's name, its type."""

import numpy as np
import pytest

import bridgemark as bm

X = np.zeros((5, 2), np.int32)
QUICK = {"updates": 3, "components": 3, "batch_size": 4}


@pytest.fixture(scope="module")
def reference(pair):
    return bm.Reference().fit(pair)


def quick():
    return bm.DLightSB(**QUICK)


CALLS = {
    "load": (lambda p, s: bm.load(3), TypeError, "name_or_folder must be a str or os.PathLike, got int"),
    "no such pair": (lambda p, s: bm.load("d2"), ValueError, "pair must be a preset or a pair folder"),
    "save": (lambda p, s: p.save(None), TypeError, "folder must be a str .* got NoneType"),
    "positional option": (lambda p, s: bm.DLightSB(3), TypeError, r"options by name: .* got 3; fit takes"),
    "solver's name": (lambda p, s: bm.make_solver(3), TypeError, "name must be a str, got int"),
    "no such solver": (lambda p, s: bm.make_solver("x"), ValueError, "solver must be one of oracle"),
    "hidden": (lambda p, s: bm.CSBM(hidden=[]).fit(p), ValueError, "hidden must be 1 to 64 whole numbers in"),
    "fit device": (lambda p, s: quick().fit(p, device=0), TypeError, "device must be a str, got int"),
    "fit folder": (lambda p, s: quick().fit(p, folder=3), TypeError, "folder must be a str or os"),
    "fit resume": (lambda p, s: quick().fit(p, resume="yes"), TypeError, "resume must be True or False, got str"),
    "nothing to resume": (lambda p, s: quick().fit(p, resume=True), ValueError, "resume needs folder"),
    "fit progress": (lambda p, s: quick().fit(p, progress=3), TypeError, "progress must be True, False or a call"),
    "fit gamma": (lambda p, s: quick().fit(X, X, gamma="a"), TypeError, "gamma must be a number, got str"),
    "fit categories": (
        lambda p, s: quick().fit(X, X, num_categories="a"), TypeError, "num_categories must be an int, got str",
    ),
    "no states": (lambda p, s: s.sample(None), TypeError, "x0 must be an array of integers .* got NoneType"),
    "solver save": (lambda p, s: s.save(3), TypeError, "folder must be a str or os.PathLike, got int"),
    "load_solver": (lambda p, s: bm.load_solver(3), TypeError, "folder must be a str or os.PathLike, got int"),
    "class": (
        lambda p, s: bm.evaluate(p, bm.DLightSB), TypeError, r"DLightSB\(\).fit\(pair\), got the class DLightSB",
    ),
    "c2st": (lambda p, s: bm.evaluate(p, s, c2st=3), TypeError, "c2st must be True or False, got int"),
    "num_seeds": (lambda p, s: bm.evaluate(p, s, num_seeds=1.5), TypeError, "num_seeds must be an int, got float"),
    "label": (lambda p, s: bm.evaluate(p, s, label=3), TypeError, "label must be a str, got int"),
    "add_to": (lambda p, s: bm.evaluate(p, s, label="x", add_to=3), TypeError, "add_to must be a str or os"),
    "nothing returned": (lambda p, s: bm.evaluate(p, lambda x0: None), TypeError, "callable returned must be an"),
    "compare": (lambda p, s: bm.compare([3]), TypeError, "what evaluate returned, got .3."),
    "table": (lambda p, s: bm.Table([{"a": 1}, {"b": 2}]), ValueError, "must have the columns a, got b"),
    "run": (lambda p, s: bm.run(3, "x"), TypeError, "experiment must be a str or os.PathLike, got int"),
    "report": (lambda p, s: bm.report(None), TypeError, "folder must be a str or os.PathLike, got NoneType"),
    "results": (lambda p, s: bm.load_results(3), TypeError, "folder must be a str or os.PathLike, got int"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), CALLS.values(), ids=CALLS.keys())
def test_wrong_calls_are_refused_in_pythons_words(pair, reference, call, error, message):
    with pytest.raises(error, match=message) as caught:
        call(pair, reference)
    text = str(caught.value)
    assert "\n" not in text and "--" not in text and "incompatible" not in text


def test_one_result_is_no_list_of_results(pair, reference):
    result = bm.evaluate(pair, reference, conditional_samples=5, num_trajectories=2)
    with pytest.raises(TypeError, match="got one Result"):
        bm.compare(result)


def test_folders_that_hold_a_run_say_so_without_flags(pair, tmp_path):
    quick().fit(pair).save(tmp_path / "run")
    with pytest.raises(OSError, match="already holds a run; give another folder or resume it"):
        quick().fit(pair, folder=tmp_path / "run")
