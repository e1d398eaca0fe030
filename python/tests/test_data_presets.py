"""Pairs that look like data, from the wheel: kit, training, scores and report of each."""

import numpy as np
import pytest

import bridgemark as bm

PRESETS = {"data-words": 12, "data-digits-3-8": 64, "data-text": 64, "data-brick-gravel": 256}

GRID = """
name = 'data'
[evaluation]
trajectories = 5
conditional_samples = 5
[[grid]]
pairs = ['{pair}']
solvers = ['oracle', 'independent']
[[grid]]
pairs = ['{pair}']
solvers = ['dlightsb']
[grid.options]
components = 4
updates = 3
batch_size = 32
source = "none"
"""


def test_all_are_known():
    assert {pair for pair in bm.presets() if pair.startswith("data-")} == set(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_kit_and_training(name, tmp_path, command_line):
    command_line("kit", name, "-o", tmp_path / "kit")
    assert np.load(tmp_path / "kit" / "test_x0.npy").shape == (20000, PRESETS[name])
    pair = bm.load(name)
    solver = bm.DLightSB(updates=3, components=4, batch_size=32, source="none").fit(pair)
    x0, x1 = pair.sample_joint(50)
    assert solver.sample(x0).shape == x1.shape
    gap = pair.log_conditional(x0, x1) - solver.log_conditional(x0, x1)
    assert gap.mean() > 0


def test_scores_and_report(tmp_path, name="data-digits-3-8"):
    (tmp_path / "x.toml").write_text(GRID.format(pair=name))
    results = bm.run(tmp_path / "x.toml", tmp_path / "out")
    assert len(results.where(score="joint_kl")) == 3
    page = next(path for path in bm.report(tmp_path / "out") if path.suffix == ".html").read_text()
    assert name in page and '"pictures"' in page
