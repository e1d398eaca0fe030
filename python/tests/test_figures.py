"""Figures of a results folder: which there are, what they show, what is refused."""

import re
import subprocess
import sys

import pytest

import bridgemark as bm
from bridgemark import _figures, figures

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
PAIR = "d2-gaussian-0.02"
NAMES = ["quality-over-time.svg", "scores-by-pair.svg", f"trajectories-{PAIR}.svg"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("experiment")
    (made / "x.toml").write_text(
        "name = 'x'\n[evaluation]\ntrajectories = 20\nconditional_samples = 20\n"
        f"[[grid]]\npairs = ['{PAIR}']\nsolvers = ['oracle', 'independent', 'reference']\n"
    )
    bm.run(made / "x.toml", made / "out")
    bm.evaluate(
        PAIR,
        lambda x0: x0,
        label="Same",
        add_to=made / "out",
        conditional_samples=20,
        num_trajectories=20,
        training_seconds=2.0,
        metrics={"moved": lambda x0, x1, drawn: (x0 != drawn).mean()},
    )
    return made / "out"


def shown(file):
    """The texts of a figure; svg.fonttype is that of paths, whose texts are comments."""
    text = file.read_text(encoding="utf-8")
    return [line[5:-4] for line in map(str.strip, text.splitlines()) if line.startswith("<!-- ")]


def test_every_figure_that_the_results_have_is_drawn(folder, tmp_path):
    files = bm.draw_figures(folder, tmp_path / "a")
    assert [file.name for file in files] == NAMES
    again = bm.draw_figures(folder, tmp_path / "b")
    assert [f.read_bytes() for f in files] == [f.read_bytes() for f in again]
    time, pairs, paths = map(shown, files)
    assert "joint\\_kl, nats" in time or "joint_kl, nats" in time
    assert PAIR in time and PAIR in pairs and PAIR in paths
    assert "Reference" in time and "Reference" in pairs
    assert {"truth", "Reference"} <= set(paths)
    assert "Same" not in time  # a callable has no joint KL


def test_a_metric_of_ones_own_and_results_alone(folder, tmp_path, capsys):
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "results.jsonl").write_bytes((folder / "results.jsonl").read_bytes())
    out = tmp_path / "out"
    assert figures.main([str(alone), "-o", str(out), "--score", "moved", "--only", "Same"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[:2] == [str(out / name) for name in NAMES[:2]]
    assert printed[2].startswith("no trajectories")
    assert "Same" in shown(out / NAMES[0])


def test_a_column_is_a_pair_and_its_number_of_rows():
    assert _figures._column({"pair": "p", "samples": 0}) == "p"
    assert _figures._column({"pair": "p", "samples": 100}) == "p, n = 100"


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["--score", "sharpness"], "score must be one that runs have, .*got sharpness"),
        (["--only", "nothing"], r"only must match a run, such as d2-.*got \['nothing'\]"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(folder, tmp_path, capsys, arguments, match):
    assert figures.main([str(folder), "-o", str(tmp_path), *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(match, line)


def test_a_folder_without_results_is_refused(tmp_path, capsys):
    assert figures.main([str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    assert "results.jsonl" in capsys.readouterr().err
    with pytest.raises(ValueError, match="format must be one of svg, png, pdf, got 'gif'"):
        bm.draw_figures(tmp_path, tmp_path, format="gif")


def test_without_matplotlib_it_says_what_to_install(folder, tmp_path):
    code = "import sys; sys.modules['matplotlib'] = None; from bridgemark.figures import main; "
    code += f"sys.exit(main([{str(folder)!r}, '-o', {str(tmp_path)!r}]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "draw_figures needs matplotlib: pip install" in done.stderr
    assert "Traceback" not in done.stderr
