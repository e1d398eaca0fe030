#!/usr/bin/env python3
"""Runs an experiment whose labels, names and folders try to run code, and makes its report.

    tests/browser/make_hostile_experiment.py build/bridgemark FOLDER

FOLDER/report.html is then for check_report.py, which fails where anything of it ran. Each
attempt sets window.hacked.
"""

import json
import pathlib
import subprocess
import sys

CODE = "window.hacked=1"
LABELS = [
    f'"+({CODE})+"',
    f"'+({CODE})+'",
    f"</script><script>{CODE}</script>",
    f"<img src=x onerror={CODE}>",
    f'\\"+({CODE})//',
    f"${{{CODE}}}",
    "{{js}} {{nonce}}",
    f"datum.constructor.constructor('{CODE}')()",
    'a "quoted" label\nof two lines',
    '=HYPERLINK("x")|`code`[a](b) & \\input{x}',
    "\u2028\u202e\u0007\u001b[31m",
]


def toml_text(text):
    return json.dumps(text).replace("\x7f", "\\u007f")


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True)
    pair = folder / f'"><img src=x onerror={CODE}>'
    run = lambda *arguments: subprocess.run(
        [str(program), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL
    )
    run(
        "build",
        "custom",
        "--categories",
        6,
        "--sigma",
        0.8,
        "--gamma",
        0.2,
        "--name",
        f"</script><script>{CODE}</script>",
        "-o",
        pair,
    )
    grids = [
        f"""[[grid]]
pairs = [{toml_text(str(pair))}]
solvers = ["dlightsb"]
label = {toml_text(label)}
seeds = [{number}]
[grid.options]
updates = 200
components = 3
log_every = 20
validate_every = 50
"""
        for number, label in enumerate(LABELS)
    ]
    grids.append(f"[[grid]]\npairs = [{toml_text(str(pair))}]\nsolvers = ['oracle']\n")
    experiment = folder / "experiment.toml"
    experiment.write_text(
        f"name = {toml_text(f'<script>{CODE}</script>')}\n"
        f"description = {toml_text(LABELS[0])}\n"
        "[evaluation]\ntrajectories = 20\n" + "".join(grids),
        encoding="utf-8",
    )
    run("run", experiment, "-o", folder / "out")
    # What a run's own file says of its machine, and an id, from somebody else's results.
    results = folder / "out" / "results.jsonl"
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").split("\n") if line]
    for line in lines:
        line["machine"] = f"</script><script>{CODE}</script>"
        line["device"] = f"cpu; echo {CODE}"
        if line["seed"] == 3:
            line["run"] = f"../../{line['run']}\nrm -rf /"
    results.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run("report", folder / "out", "-o", folder / "report.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
