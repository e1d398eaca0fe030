"""Solvers of one's own in grids: fitted, killed, broken, gone on with, and named by packages."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import bridgemark as bm

SOLVERS = '''
import os
import signal
import numpy as np
import bridgemark as bm

print("a module may print")


class Rows:
    """Answers with rows of x1 at random."""

    title = "Random rows"
    both_directions = True
    options = {
        "rows": bm.Option(100, "rows that are kept", low=1, high=1000),
        "updates": bm.Option(4, low=1, counts_updates=True),
        "noise": 0.5,
        "kind": bm.Option("a", choices=("a", "b")),
        "shuffle": False,
    }

    def fit(self, x0, x1, reference, options, run):
        assert (type(options["noise"]), type(options["shuffle"])) == (float, bool)
        assert str(reference) == "gaussian" and (run.dim, run.num_categories) == (2, 50)
        if x1 is None:
            rows = x0.sample_x1(options["rows"], seed=run.seed)
            other = x0.sample_x0(options["rows"], seed=run.seed)
        else:
            rows, other = x1[: options["rows"]], x0[: options["rows"]]
        np.savez(run.folder / "rows.npz", rows=rows, other=other)
        run.progress(1, 1)
        run.diagnostics["kept"] = np.int64(len(rows))
        return Answer(rows, other)

    def load(self, reference, options, run):
        with np.load(run.folder / "rows.npz") as kept:
            return Answer(kept["rows"], kept["other"])


class Answer:
    def __init__(self, rows, other):
        self.rows, self.other = rows, other

    def sample(self, x0, seed):
        return self.rows[np.random.default_rng(seed).integers(len(self.rows), size=len(x0))]

    def reversed(self):
        return Answer(self.other, self.rows)


class Broken:
    """Fails in the way that it is asked for."""

    ways = ("raise", "kill", "exit", "leave", "shape", "nan", "far", "marginals", "nothing", "none")
    options = {"how": bm.Option("raise", choices=ways)}

    def fit(self, x0, x1, reference, options, run):
        self.how = options["how"]
        if self.how == "raise":
            raise KeyError("a table")
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "exit":
            raise SystemExit(0)
        if self.how == "leave":
            os.write(1, b"printed by C\\n")
            print("rubbish", flush=True)
            os._exit(3)
        if self.how == "marginals":
            self.log_marginals = lambda x0: np.full((*x0.shape, 50), np.nan)
        if self.how == "nothing":
            return 3

    def sample(self, x0, seed):
        if self.how == "shape":
            return x0[:, :1]
        if self.how == "nan":
            return np.full(x0.shape, np.nan)
        return x0 + 50 if self.how == "far" else x0


class Counted:
    """Is killed at the third update of its first try, and goes on from its checkpoint."""

    def fit(self, x0, x1, reference, options, run):
        checkpoint = run.folder / "update.txt"
        first = int(checkpoint.read_text()) if checkpoint.exists() else 0
        for update in range(first, 5):
            checkpoint.write_text(str(update + 1))
            if first == 0 and update == 2:
                os.kill(os.getpid(), signal.SIGKILL)
        run.diagnostics["began_at"] = first

    def sample(self, x0, seed):
        return x0
'''

GRID = """
name = 'outside'
[evaluation]
seeds = 1
trajectories = 10
conditional_samples = 20
"""


def grid(solver, *lines, options=()):
    table = ["[[grid]]", "pairs = ['d2-gaussian-0.02']", f"solvers = ['{solver}']", *lines]
    return "\n".join([*table, "[grid.options]", *options]) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the module and nothing else."""
    (tmp_path / "my_solvers.py").write_text(SOLVERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRIDGEMARK_PYTHON", sys.executable)
    return tmp_path


@pytest.fixture
def program(command_line, folder):
    """The program on an experiment of these grids: its status, and what it printed."""

    def run(*grids, arguments=()):
        (folder / "x.toml").write_text(GRID + "".join(grids))
        command = [command_line.program, "run", "x.toml", "-o", "out", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)

    return run


def test_runs_of_a_class_stand_beside_ours(program, folder, monkeypatch):
    done = program(
        grid("oracle"),
        grid(
            "python:my_solvers:Rows",
            "seeds = 2",
            "samples = [0, 50]",
            "both_directions = true",
            options=["rows = 40", "shuffle = true"],
        ),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = bm.load_results(folder / "out")
    score = "sampled_conditional_shape_score"
    own = results.where(method="Random rows", score=score, pair="d2-gaussian-0.02")
    assert [(row["samples"], row["seed"]) for row in own] == [(0, 0), (0, 1), (50, 0), (50, 1)]
    assert len({row["value"] for row in own}) == 4  # every run has draws of its own
    assert all(row["value"] > 0 for row in own)
    turned = results.where(method="Random rows", score=score, pair="d2-gaussian-0.02-reverse")
    assert len(turned) == 4
    run = folder / "out" / "runs" / "d2-gaussian-0.02.python-my_solvers-Rows.n50.set0.seed1"
    result = json.loads((run / "result.json").read_text())
    assert result["options"] == {
        "rows": "40", "updates": "4", "noise": "0.5", "kind": "a", "shuffle": "true",
    }  # fmt: skip
    assert result["diagnostics"]["kept"] == 40 and result["diagnostics"]["training_seconds"] >= 0
    set0 = bm.load("d2-gaussian-0.02").training_set(50)[1]
    x0 = bm.load("d2-gaussian-0.02").sample_x0(20, seed=1)
    with pytest.raises(OSError, match="config.toml: names the solver 'python:my_solvers:Rows'"):
        bm.load_solver(run)
    bm.report(folder / "out", folder / "report.html")
    assert "Random rows" in (folder / "report.html").read_text()
    monkeypatch.syspath_prepend(folder)
    import my_solvers  # noqa: F401

    drawn = bm.load_solver(run).sample(x0, seed=3)
    assert {tuple(row) for row in drawn} <= {tuple(row) for row in set0[:40]}
    assert "a module may print" in (folder / "out" / "logs" / f"{run.name}.txt").read_text()


def test_a_run_that_breaks_leaves_the_others_alone(program, folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    import my_solvers

    ways = list(my_solvers.Broken.ways)
    done = program(grid("python:my_solvers:Broken", options=[f"how = {ways}"]))
    assert done.returncode == 1
    failed = dict(
        line.removeprefix("failed: d2-gaussian-0.02.Broken--how-").split(".seed0: ")
        for line in done.stdout.splitlines()
        if line.startswith("failed: ")
    )
    assert sorted(failed) == sorted(set(ways) - {"none"})
    assert failed["raise"].startswith("ended with status 2: KeyError: 'a table' (my_solvers.py, ")
    assert failed["raise"].endswith(", in fit)")
    assert failed["kill"].startswith("ended by signal 9")
    assert "SystemExit" in failed["exit"]
    assert failed["leave"] == "ended with status 3: rubbish"
    assert "what sample returned must have 2 columns" in failed["shape"]
    for how in ("nan", "far", "marginals"):
        assert "returned must" in failed[how], failed[how]
    assert "must have sample(x0, seed), got <class 'int'>" in failed["nothing"]
    assert {row["method"] for row in bm.load_results(folder / "out")} == {"Broken, how none"}
    log = folder / "out" / "logs" / "d2-gaussian-0.02.Broken--how-raise.seed0.txt"
    assert "Traceback" in log.read_text()


@pytest.mark.parametrize("sharing", [["--resume"], ["--shard", "1/1", "--resume"]])
def test_a_run_that_was_killed_goes_on(program, folder, sharing):
    one = grid("python:my_solvers:Counted")
    first = program(one, arguments=sharing[:-1])
    assert first.returncode == 1 and "ended by signal 9" in first.stdout
    assert program(one, arguments=sharing).returncode == 0
    run = folder / "out" / "runs" / "d2-gaussian-0.02.python-my_solvers-Counted.seed0"
    assert json.loads((run / "result.json").read_text())["diagnostics"]["began_at"] == 3
    # What it fitted is nowhere: it is fitted again to be scored again.
    (run / "scores.json").unlink()
    assert program(one, arguments=["--resume"]).returncode == 0
    assert json.loads((run / "result.json").read_text())["diagnostics"]["began_at"] == 5


@pytest.mark.parametrize(
    ("solver", "options", "message"),
    [
        ("python:my_solvers:Row", [], "class of python:my_solvers:Row must be in my_solvers, got "
         "'Row'; the nearest is Rows"),
        ("python:my_solver:Rows", [], "in the working folder or installed, got 'my_solver'"),
        ("python:my_solvers", [], "must be python:MODULE:CLASS, got 'python:my_solvers'"),
        ("python:os:PathLike", [], "python:os:PathLike must have fit(x0, x1, reference, options"),
        ("python:bad:Rows", [], "bad of python:bad:Rows NameError: name 'nothing' is not defined "
         "(bad.py, line 1, in <module>)"),
        ("python:my_solvers:Rows", ["rowz = 3"], "unknown key 'rowz'; did you mean 'rows'?"),
        ("python:my_solvers:Rows", ["rows = 1001"], "rows must be a whole number in "
         "1..1000, got '1001'"),
        ("python:my_solvers:Rows", ["kind = 'c'"], "kind must be one of a, b, got 'c'"),
        ("python:my_solvers:Rows", ["shuffle = 1"], "shuffle must be one of false, true, got '1'"),
        ("python:leaves:Rows", [], "leaves of python:leaves:Rows SystemExit: bye (leaves.py, "),
        ("python:dies:Rows", [], "must have the package of bridgemark"),
        ("my-rows", [], "solver must be one of oracle, "),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(program, folder, solver, options, message):
    (folder / "bad.py").write_text("nothing\n")
    (folder / "leaves.py").write_text("raise SystemExit('bye')\n")
    (folder / "dies.py").write_text("import os\nos._exit(3)\n")
    done = program(grid(solver, options=options))
    assert done.returncode == 2 and message in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (folder / "out").exists()


def test_options_of_a_class_are_checked(folder):
    from bridgemark import _outside_solvers

    def complaint(options):
        kind = type("Mine", (), {"fit": print, "options": options})
        with pytest.raises(ValueError) as refused:
            _outside_solvers.OutsideClass("mine", kind).describe()
        return str(refused.value)

    assert "options of mine must be a dict" in complaint(["rows"])
    assert "option rows of mine must have a number" in complaint({"rows": None})
    assert "option num_steps of mine is that of the chain" in complaint({"num_steps": 4.0})
    assert "option x of mine is text" in complaint({"x": bm.Option("a", low=1)})
    assert "texts as choices" in complaint({"x": bm.Option("a", choices=("a", 1))})
    assert "counts updates" in complaint({"x": bm.Option(0.5, counts_updates=True)})


def test_a_default_out_of_range_is_refused(program, folder):
    (folder / "odd.py").write_text(
        "import bridgemark as bm\n"
        "class Odd:\n    options = {'x': bm.Option(3, high=2)}\n    fit = sample = print\n"
    )
    done = program(grid("python:odd:Odd"))
    assert done.returncode == 2 and "x must be a whole number in -2147483648..2" in done.stderr


def test_two_of_one_title_are_refused(program, folder):
    (folder / "odd.py").write_text(
        "class Answer:\n    title = 'Random rows'\n    fit = sample = print\n"
    )
    both = [grid("python:my_solvers:Rows"), grid("python:odd:Answer")]
    done = program(*both)
    assert (
        done.returncode == 2 and "titles or labels of their own, got 'Random rows'" in done.stderr
    )
    assert (
        program(
            both[0], both[1].replace("[grid.options]", "label = 'x'"), arguments=["--dry-run"]
        ).returncode
        == 0
    )


def test_it_ends_with_the_program(program, folder, command_line):
    (folder / "slow.py").write_text(
        "import os, time\n"
        "class Slow:\n"
        "    def fit(self, x0, x1, reference, options, run):\n"
        "        open('pid.part', 'w').write(str(os.getpid()))\n"
        "        os.rename('pid.part', 'pid')\n"
        "        time.sleep(600)\n"
        "    def sample(self, x0, seed):\n"
        "        return x0\n"
    )
    (folder / "x.toml").write_text(GRID + grid("python:slow:Slow"))
    for end, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        with subprocess.Popen(
            [command_line.program, "run", "x.toml", "-o", f"out{end}"], cwd=folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as running:  # fmt: skip
            while not (folder / "pid").exists():
                assert running.poll() is None
                time.sleep(0.02)
            solver = int((folder / "pid").read_text())
            running.send_signal(end)
            assert running.wait() == status
        while is_running(solver):
            time.sleep(0.02)
        (folder / "pid").unlink()


def is_running(pid):
    """Whether it is more than a name: nobody may ask for the end of an orphan."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_list_describes_a_class(folder, command_line):
    said = command_line("list", "--solver", "python:my_solvers:Rows")
    assert said.startswith("Keys of python:my_solvers:Rows, Answers with rows of x1 at random:")
    assert "a module may print" not in said
    options = command_line.json("list", "--solver", "python:my_solvers:Rows")["solvers"][0]
    assert [option["key"] for option in options["options"]][:2] == ["rows", "updates"]


def test_python_that_lacks_the_package_is_named(program, monkeypatch):
    monkeypatch.setenv("BRIDGEMARK_PYTHON", "/nowhere/python3")
    done = program(grid("python:my_solvers:Rows"))
    assert done.returncode == 2 and "/nowhere/python3 must have the package" in done.stderr
    assert "BRIDGEMARK_PYTHON names another one" in done.stderr


def test_a_package_gives_a_solver_its_name(program, folder, monkeypatch):
    package = folder / "packages" / "mine-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[bridgemark.solvers]\nmy-rows = my_solvers:Rows\n")
    monkeypatch.setenv("PYTHONPATH", str(package.parent), prepend=os.pathsep)
    assert program(grid("my-rows")).returncode == 0
    assert {row["run"] for row in bm.load_results(folder / "out")} == {
        "d2-gaussian-0.02.my-rows.seed0"
    }
    unknown = program(grid("my-row"), arguments=["--dry-run"])
    assert "the nearest is my-rows" in unknown.stderr


def test_an_estimate_counts_it(program):
    done = program(
        grid("python:my_solvers:Rows", "seeds = 3", options=["updates = 100"]),
        arguments=["--estimate", "--json"],
    )
    said = json.loads(done.stdout)
    assert said["runs"] == 3 and said["seconds"] > 0
    assert not (said["groups"][0]["train_seconds"] > 60)


def test_run_of_python_has_them_too(folder):
    (folder / "x.toml").write_text(GRID + grid("python:my_solvers:Rows"))
    results = bm.run("x.toml", "out")
    assert {row["method"] for row in results} == {"Random rows"}
    (folder / "x.toml").write_text(GRID + grid("python:my_solvers:Row"))
    with pytest.raises(OSError, match="the nearest is Rows"):
        bm.run("x.toml", "out2")
    assert "PYTHONPATH" not in os.environ or os.environ["PYTHONPATH"] != os.pathsep.join(sys.path)
