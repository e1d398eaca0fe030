#!/usr/bin/env python3
"""Times an update of DLightSB on one and on two ranks, one thread each, and counts what they
exchange.

    bench/ranks.py build/bridgemark-mpi [--components 20000] [--updates 8] [--turns 3]

First the models of one process and of two ranks are compared byte by byte. Then runs of one and of
two ranks take turns; the ratio is that of the fastest of each. Needs mpirun and two idle cores.
Exits 1 where two ranks are not 1.7 times as fast, or the bytes are not linear in the batch.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

LIMIT = 1.7


def train(program, pair, folder, ranks, components, batch, updates):
    """Seconds and exchanged bytes of an update."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [
        program,
        "train",
        "dlightsb",
        "--pair",
        pair,
        "--threads",
        "1",
        "--json",
        "-o",
        folder,
        "--set",
        f"components={components}",
        "--set",
        f"batch_size={batch}",
        "--set",
        f"updates={updates}",
    ]
    launch = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    result = subprocess.run([*launch, *command], stdout=subprocess.PIPE, text=True, check=True)
    said = json.loads(result.stdout)["diagnostics"]
    return said["training_seconds"] / updates, said.get("bytes_an_update", 0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--pair", default="d16-gaussian-0.02")
    parser.add_argument("--components", type=int, default=20000)
    parser.add_argument("--updates", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    program, holds, traffic = arguments.program.resolve(), True, []
    with tempfile.TemporaryDirectory() as name:
        one, two = pathlib.Path(name) / "one", pathlib.Path(name) / "two"

        def both(batch, updates):
            return [
                train(program, arguments.pair, folder, ranks, arguments.components, batch, updates)
                for ranks, folder in ((1, one), (2, two))
            ]

        both(64, 2)
        if (one / "model.safetensors").read_bytes() != (two / "model.safetensors").read_bytes():
            sys.exit("the models of one process and of two ranks differ")
        print(f"{arguments.pair}, {arguments.components} components, ms of an update")
        print("batch   one rank  two ranks  ratio  bytes an update")
        for batch in (512, 1024, 2048):
            turns = [both(batch, arguments.updates) for _ in range(arguments.turns)]
            alone, together = (min(turn[i][0] for turn in turns) for i in (0, 1))
            traffic.append(turns[0][1][1])
            holds &= alone / together >= LIMIT
            print(
                f"{batch:5} {1e3 * alone:10.1f} {1e3 * together:10.1f} {alone / together:6.2f} "
                f"{traffic[-1]:16.0f}",
                flush=True,
            )
    row = (traffic[1] - traffic[0]) / 512
    linear = abs(traffic[2] - traffic[1] - 1024 * row) < 1.0
    print(
        f"{row:g} bytes a row and {traffic[0] - 512 * row:.0f} an update: "
        f"{'linear in the batch' if linear else 'NOT LINEAR'}"
    )
    print(f"limit {LIMIT} times: {'ok' if holds else 'FAILED'}")
    return 0 if holds and linear else 1


if __name__ == "__main__":
    sys.exit(main())
