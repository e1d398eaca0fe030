"""Types: the stub of the solvers is that of the registry, and a checker finds what is wrong."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import bridgemark as bm
from bridgemark import _core

PACKAGE = Path(bm.__file__).parent


@pytest.fixture(scope="module")
def classes():
    stubs = [PACKAGE / "_solver_options.pyi", PACKAGE / "_solvers.pyi"]
    nodes = [node for stub in stubs for node in ast.parse(stub.read_text()).body]
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def keys(classes, name):
    """The keys of a TypedDict of the stub, those of its bases included."""
    found = set()
    for base in classes[name].bases:
        if isinstance(base, ast.Name) and base.id in classes:
            found |= keys(classes, base.id)
    return found | {n.target.id for n in classes[name].body if isinstance(n, ast.AnnAssign)}


def unpacked(function):
    """The TypedDict that a method of the stub takes its keywords from; None where it takes none."""
    annotation = function.args.kwarg and function.args.kwarg.annotation
    return annotation.slice.id if annotation else None


@pytest.mark.parametrize(("name", "options"), [(s[0], s[2]) for s in _core.solver_specs()])
def test_stub_has_the_options_of_the_registry(classes, name, options):
    expected = {option["key"] for option in options}
    solver = type(bm.make_solver(name))
    methods = [n for n in classes[solver.__name__].body if isinstance(n, ast.FunctionDef)]
    init = unpacked(next(m for m in methods if m.name == "__init__"))
    assert (keys(classes, init) if init else set()) == expected
    fits = [keys(classes, unpacked(m)) for m in methods if m.name == "fit"]
    common = {"seed", "folder", "resume", "progress", "device", "on_log", "tensorboard"}
    of_data = {"condition", "reference", "gamma", "num_categories", "total_steps"}
    of_pair = set() if name == "oracle" else {"samples", "training_set"}
    assert fits[0] == expected | common | of_pair
    assert name == "oracle" or fits[1] == expected | common | of_data
    assert set(inspect.signature(solver).parameters) == expected


def check(tmp_path, *lines):
    """The complaints of mypy --strict about a script."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    script = tmp_path / "user.py"
    script.write_text("import numpy as np\nimport bridgemark as bm\n" + "\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", script],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [line for line in done.stdout.splitlines() if "error:" in line]


def test_a_script_of_each_solver_is_clean(tmp_path):
    assert not check(
        tmp_path,
        "pair = bm.load('d2-gaussian-0.02')",
        "x = np.zeros((3, 2), np.int32)",
        "a: bm.Oracle = bm.Oracle().fit(pair, seed=1)",
        "b: bm.Independent = bm.Independent().fit('d2-gaussian-0.02')",
        "c: bm.Reference = bm.Reference().fit(x, x, reference='uniform', gamma=0.1)",
        "d: bm.FeatureWise = bm.FeatureWise(marginal_samples=10).fit(pair, imf_steps=16)",
        "d = bm.FeatureWise().fit(pair, samples=10, training_set=1)",
        "d = bm.FeatureWise().fit(*pair.training_set(10), reference=pair.reference)",
        "e: bm.DLightSB = bm.DLightSB(components=3).fit(x, x, updates=3, num_categories=3)",
        "f: bm.DLightSBM = bm.DLightSBM(num_steps=16, loss='mse').fit(pair, device='cpu')",
        "g: bm.DLightSBChain = bm.DLightSBChain(states=3).fit(pair, learning_rate=0.1)",
        "h: bm.CSBM = bm.CSBM(hidden=[16, 16], ema=0.9).fit(pair, folder='run', resume=True)",
        "i: bm.AlphaCSBM = bm.AlphaCSBM(initial='independent').fit(pair, updates_first=3)",
        "j: bm.Sinkhorn = bm.Sinkhorn(smoothing='auto').fit(x, x, smoothing=3, holdout=0.1)",
        "y = e.reversed().sample(e.sample(x, seed=3))",
        "kl: float | None = bm.evaluate('d2-gaussian-0.02', a).scores['joint_kl']",
    )


def test_what_is_wrong_is_found(tmp_path):
    wrong = [
        "bm.DLightSB(componentz=3)",
        "bm.DLightSB(components='many')",
        "bm.DLightSB().fit('pair', component=3)",
        "bm.DLightSB().fit('pair', gamma=0.1)",
        "bm.DLightSB(num_steps=16)",
        "bm.DLightSBM(loss='l2')",
        "bm.Oracle().fit(np.zeros((1, 2)), np.zeros((1, 2)))",
        "bm.Reference(updates=3)",
        "bm.CSBM(updates=3)",
    ]
    found = {int(line.split(":")[1]) for line in check(tmp_path, *wrong)}
    assert found == set(range(3, 3 + len(wrong)))  # two lines of imports come first
