"""Keeps a small part of results.jsonl files, a line for each run and score, for the pages."""

import json
import sys

from result_lines import score_lines


def merged(program, sources, key_of, slimmed):
    """{key_of(line): slimmed(line)} of the files' lines; a line whose key is None is left out. A
    key that is there twice and a solver that was run with two sets of options are errors."""
    kept, options = {}, {}
    for path in sources:
        for line in score_lines(path):
            key = key_of(line)
            if key is None:
                continue
            name = line.get("run", line["pair"])
            solver, used = line["solver"], line.get("options")
            if used is not None and options.setdefault(solver, used) != used:
                sys.exit(f"{program}: {path}: {name} has other options than runs before it")
            if key in kept:
                sys.exit(f"{program}: {path}: {name} is there twice")
            kept[key] = slimmed(line)
    return kept


def line_of(record):
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def write(path, kept, keys):
    """The lines in the order of the keys, those that are there. The number of bytes."""
    text = "".join(line_of(kept[key]) for key in keys if key in kept)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return len(text.encode())


def only(pair, solver, rest=""):
    """The option of `bridgemark run` that makes one run."""
    return f"--only={pair}.{solver}.*{rest}"
