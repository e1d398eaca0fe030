"""The package as a whole: what it offers, explains and types."""

import ast
import importlib.metadata
import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import bridgemark as bm

PACKAGE = Path(bm.__file__).parent


def public_members():
    for name in bm.__all__:
        value = getattr(bm, name)
        if name != "__version__":
            yield name, value
        if inspect.isclass(value):
            fields = getattr(value, "__dataclass_fields__", {})  # the class explains them
            for member, content in vars(value).items():
                if not (member in fields or member.startswith("_") or isinstance(content, str)):
                    yield f"{name}.{member}", content


@pytest.mark.parametrize(
    ("name", "value"), list(public_members()), ids=lambda v: v if isinstance(v, str) else ""
)
def test_everything_public_is_explained(name, value):
    explained = inspect.getdoc(value.__func__ if isinstance(value, classmethod) else value)
    assert explained and len(explained) > 10, name


def test_all_is_complete_and_sorted():
    assert len(set(bm.__all__)) == len(bm.__all__)
    visible = {name for name in dir(bm) if not name.startswith("_")} - {
        "torch",
        "figures",
    }  # once imported
    assert visible == {name for name in bm.__all__ if not name.startswith("_")}


def test_stub_types_every_native_function():
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {"evaluate", "fit", "load", "load_coupling", "presets", "solvers"} <= functions
    for cls in (bm.Pair, bm.Coupling):
        methods = {n.name: n for n in classes[cls.__name__].body if isinstance(n, ast.FunctionDef)}
        assert {name for name in vars(cls) if not name.startswith("_")} <= methods.keys()
        assert all(method.returns is not None for method in methods.values())
    assert (PACKAGE / "py.typed").exists()


def test_types_hold(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    user = tmp_path / "user.py"
    user.write_text(
        "import numpy as np\n"
        "import numpy.typing as npt\n"
        "import bridgemark as bm\n"
        "pair = bm.load('d2-gaussian-0.02')\n"
        "x1: npt.NDArray[np.int32] = pair.sample_conditional(pair.sample_x0(3, seed=1))\n"
        "solver: bm.DLightSB = bm.DLightSB(components=3).fit(pair)\n"
        "score: float | None = bm.evaluate(pair, solver).scores['joint_kl']\n"
    )
    # Without torch all of bridgemark.torch is of unknown types.
    torch = [] if importlib.util.find_spec("torch") else ["--exclude", "bridgemark/torch"]
    for what in (["-p", "bridgemark", *torch], [user]):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "mypy",
                "--strict",
                "--disable-error-code=import-untyped",
                *what,
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_version_is_that_of_the_wheel():
    assert importlib.metadata.version("bridgemark") == bm.__version__


def test_import_needs_numpy_alone():
    script = (
        "import sys\n"
        "for name in ('torch', 'jax', 'cupy', 'pandas', 'matplotlib', 'scipy'):\n"
        "    sys.modules[name] = None\n"
        "import bridgemark as bm\n"
        "try:\n"
        "    import bridgemark.torch\n"
        "except ImportError as error:\n"
        "    print(error.name)\n"
        "pair = bm.load('d2-gaussian-0.02')\n"
        "print(bm.evaluate(pair, bm.Oracle().fit(pair))['joint_kl'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "torch\n0.0\n"


@pytest.mark.parametrize("threads", [1, 3])
def test_results_do_not_depend_on_threads(threads, pair, monkeypatch):
    script = (
        "import bridgemark as bm\n"
        "pair = bm.load('d2-gaussian-0.02')\n"
        "solver = bm.DLightSB(updates=5, components=6, batch_size=16).fit(pair)\n"
        "print(solver.sample(pair.sample_x0(3000, seed=1), seed=2).sum())\n"
    )
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    solver = bm.DLightSB(updates=5, components=6, batch_size=16).fit(pair)
    assert int(done.stdout) == solver.sample(pair.sample_x0(3000, seed=1), seed=2).sum()
