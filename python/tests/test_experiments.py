"""Grids from Python: run, report and results, as the command line has them."""

import signal
import subprocess
import sys
import threading
import time

import pytest

import bridgemark as bm

GRID = """
name = 'small'
[evaluation]
trajectories = 10
conditional_samples = 20
[[grid]]
pairs = ['d2-gaussian-0.02']
solvers = ['oracle', 'independent']
[[grid]]
pairs = ['d2-gaussian-0.02']
solvers = ['dlightsb']
seeds = [0, 1]
[grid.options]
components = 5
updates = {updates}
checkpoint_every = 0
"""


@pytest.fixture
def experiment(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(GRID.format(updates=20))
    return path


def test_run_and_report(experiment, tmp_path):
    reports = []
    results = bm.run(experiment, tmp_path / "out", progress=lambda *report: reports.append(report))
    assert {row["run"] for row in results} == {
        "d2-gaussian-0.02.oracle.seed0",
        "d2-gaussian-0.02.independent.seed0",
        "d2-gaussian-0.02.dlightsb.seed0",
        "d2-gaussian-0.02.dlightsb.seed1",
    }
    joint = results.where(score="joint_kl")
    assert [row["value"] for row in joint][:2] == [0.0, None] and joint[2]["value"] > 0
    assert any(what == "runs" and total == 4 for what, done, total, detail in reports)
    assert bm.load_results(tmp_path / "out") == results
    again = bm.run(experiment, tmp_path / "out", resume=True)
    assert again == results
    files = bm.report(tmp_path / "out", tables_only=True)
    assert [path.name for path in files] == ["tables.md", "tables.tex", "tables.csv"]
    assert all(path.parent == tmp_path / "out" for path in files)
    assert "DLightSB" in files[0].read_text()


def test_results_are_those_of_the_command_line(experiment, tmp_path, command_line):
    own = bm.run(experiment, tmp_path / "own", only="dlightsb", jobs=1)
    command_line("run", experiment, "-o", tmp_path / "theirs", "--only", "dlightsb")
    assert bm.load_results(tmp_path / "theirs") == own
    command_line("run", experiment, "-o", tmp_path / "own", "--resume")  # goes on with ours
    assert len(bm.load_results(tmp_path / "own").where(score="joint_kl")) == 4


def test_failed_runs_are_told_after_the_others(experiment, tmp_path):
    (tmp_path / "out" / "runs").mkdir(parents=True)
    (tmp_path / "out" / "runs" / "d2-gaussian-0.02.oracle.seed0").write_text("in the way")
    with pytest.raises(RuntimeError, match="1 runs failed.*oracle.seed0: ended with status 2"):
        bm.run(experiment, tmp_path / "out", only=["oracle", "independent"])
    assert {row["method"] for row in bm.load_results(tmp_path / "out")} == {"Independent"}


def test_ctrl_c_stops_the_grid_and_resume_goes_on(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(GRID.format(updates=10**8))
    run = tmp_path / "out" / "runs" / "d2-gaussian-0.02.dlightsb.seed0"
    log = run / "log.jsonl"

    def interrupt_the_training():
        while not (log.exists() and log.stat().st_size > 0):
            time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    interrupter = threading.Thread(target=interrupt_the_training, daemon=True)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        bm.run(path, tmp_path / "out", jobs=2)
    interrupter.join()
    assert (run / "checkpoint.safetensors").exists() and not (run / "result.json").exists()


def test_bad_requests_are_refused(experiment, tmp_path):
    with pytest.raises(OSError, match="none.toml"):
        bm.run(tmp_path / "none.toml", tmp_path / "out")
    with pytest.raises(ValueError, match="only 'd64' names no run"):
        bm.run(experiment, tmp_path / "out", only="d64")
    with pytest.raises(ValueError, match="jobs must lie in"):
        bm.run(experiment, tmp_path / "out", jobs=-1)
    with pytest.raises(OSError, match="results.jsonl"):
        bm.report(tmp_path)
    with pytest.raises(OSError, match="results.jsonl"):
        bm.load_results(tmp_path)
    with pytest.raises(OSError, match="Vega's script is not there"):
        bm.run(experiment, tmp_path / "out", only="oracle")
        bm.report(tmp_path / "out", vega=tmp_path)


def test_the_process_of_a_cell_is_no_command(tmp_path):
    def exit_status(*arguments):
        command = [sys.executable, "-m", "bridgemark", *arguments]
        return subprocess.run(command, capture_output=True, check=False).returncode

    assert exit_status("list") == 2
    rest = ("--threads", "1", "--device", "cpu", "--sharers", "1")
    assert exit_status("run-cell", "{}", str(tmp_path), *rest) == 2
