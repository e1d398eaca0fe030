"""The gallery runs from beginning to end, each script as a user would run it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).resolve().parents[1] / "gallery").glob("*.py"))
FIGURES = {
    "digits": {"digits-forward.png", "digits-reverse.png"},
    "swiss_roll": {"swiss-roll.png"},
    "words": {"words.png"},
    "trajectories": {"d2-gaussian-0.02.png", "d16-gaussian-0.02.png"},
}


def test_the_gallery_is_whole():
    assert [script.stem for script in SCRIPTS] == [
        "digits",
        "flow_matching_torch",
        "own_data",
        "own_loop_torch",
        "own_torch_solver",
        "published_numbers",
        "quick_start",
        "swiss_roll",
        "trajectories",
        "words",
    ]
    assert all("# %%\n" in script.read_text() for script in SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_runs(script, tmp_path):
    if script.stem in FIGURES:
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    if skipped:
        pytest.skip(skipped[0])
    figures = {path.name for path in tmp_path.glob("*.png")}
    assert figures == FIGURES.get(script.stem, set())
