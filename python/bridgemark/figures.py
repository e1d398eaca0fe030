"""python -m bridgemark.figures RESULTS -o OUT: the figures of an experiment's results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ._figures import FORMATS, draw_figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw them and print the files; 2 and one line where that cannot be."""
    parser = argparse.ArgumentParser(
        prog="python -m bridgemark.figures",
        description="Draws the figures of an experiment's results: quality over time, scores by "
        "pair and, of runs whose models are there, trajectories. Needs matplotlib.",
    )
    parser.add_argument("results", metavar="RESULTS", help="folder with results.jsonl")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="folder of the files")
    parser.add_argument(
        "--score", metavar="NAME", help="the score to draw; the joint KL where it is left out"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        help="keep runs with this part of their id, or a pattern with * and ?; may be repeated",
    )
    parser.add_argument("--format", choices=FORMATS, default="svg", help="of the files (svg)")
    given = parser.parse_args(arguments)
    try:
        files = draw_figures(
            given.results, given.output, score=given.score, only=given.only, format=given.format
        )
    except (ImportError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(*files, sep="\n")
    if not any(file.name.startswith("trajectories-") for file in files):
        print(f"no trajectories: no model in {given.results}/runs has any")
    return 0


if __name__ == "__main__":
    sys.exit(main())
