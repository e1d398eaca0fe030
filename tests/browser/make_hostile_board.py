#!/usr/bin/env python3
"""Makes a board of results and a submission whose every text tries to run code.

    tests/browser/make_hostile_board.py build/bridgemark FOLDER

FOLDER/board/index.html is then for check_board.py, which fails where anything of it ran.
"""

import json
import pathlib
import subprocess
import sys

from make_hostile_experiment import CODE, LABELS, toml_text

PAIR = "d2-gaussian-0.02-spread"
CLOSING = f"</script><script>{CODE}</script>"
BLANKS = {
    'authors = [""]': f"authors = [{toml_text(CLOSING)}]",
    'url = ""': f"url = {toml_text('https://x.example/' + CLOSING)}",
    'revision = ""': f"revision = {toml_text(LABELS[0])}",
    'description = ""': f"description = {toml_text(LABELS[3])}",
    'date = ""': "date = 2026-11-16",
    'command = ""': f"command = {toml_text(f'echo $({CODE}) <img src=x onerror={CODE}>')}",
    'hardware = ""': f"hardware = {toml_text(LABELS[1])}",
}


def make_results(run, folder):
    """Runs of one pair under each label; their machine and device say code as well."""
    grids = [
        f"""[[grid]]
pairs = ["{PAIR}"]
solvers = ["dlightsb"]
label = {toml_text(label)}
seeds = [{seed}]
[grid.options]
updates = 20
components = 3
"""
        for seed, label in enumerate(LABELS)
    ]
    grids.append(f"[[grid]]\npairs = ['{PAIR}']\nsolvers = ['oracle']\n")
    experiment = folder / "experiment.toml"
    experiment.write_text(
        "name = 'hostile'\n[evaluation]\ntrajectories = 20\n" + "".join(grids), encoding="utf-8"
    )
    run("run", experiment, "-o", folder / f'"><img src=x onerror={CODE}>')
    results = folder / f'"><img src=x onerror={CODE}>' / "results.jsonl"
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").split("\n") if line]
    for line in lines:
        line["machine"] = CLOSING
        line["device"] = f"cpu; echo {CODE}"
    results.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (results.parent / "provenance.toml").write_text(
        f"revision = {toml_text(CLOSING)}\ndate = 2026-11-16\n", encoding="utf-8"
    )
    return results.parent


def make_submission(run, folder):
    run("train", "feature-wise", "--pair", PAIR, "-o", folder / "run")
    submission = folder / "submission"
    run(
        "evaluate",
        PAIR,
        "--run",
        folder / "run",
        "--label",
        f"Mine {CLOSING}",
        "--submission",
        submission,
    )
    path = submission / "solver.toml"
    text = path.read_text(encoding="utf-8")
    for blank, filled in BLANKS.items():
        text = text.replace(blank, filled)
    path.write_text(text, encoding="utf-8")
    return submission


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True)
    run = lambda *arguments: subprocess.run(
        [str(program), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL
    )
    results = make_results(run, folder)
    submission = make_submission(run, folder)
    run("board", results, "--submissions", submission, "-o", folder / "board")
    return 0


if __name__ == "__main__":
    sys.exit(main())
