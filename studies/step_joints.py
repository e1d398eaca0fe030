#!/usr/bin/env python3
"""The joint KL by particles of the couplings of score_defects.py that have factorised steps.

  studies/step_joints.py PAIR... [--only DEFECT]... [--sizes 16 ...] [--rows 2000] [--particles 64]
                         adds a line a pair, defect and size to results/defects/joints.jsonl

Needs the Python package, NumPy and build/step_joint_kl (`ninja -C build step_joint_kl`). What the
file has is not measured again.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import bridgemark as bm
from score_defects import DEFECTS, FACTORISED, JOINTS, STEP_DEFECTS, key_of, read

PROGRAM = Path(__file__).parent.parent / "build" / "step_joint_kl"


def measure(name, steps, rows, particles):
    """What the program says of `steps`, a FactorisedSteps, against the truth of the pair."""
    command = [PROGRAM, name, "--steps", steps.num_steps, "--noise", steps.noise]
    command += ["--rows", rows, "--particles", particles]
    with tempfile.TemporaryDirectory() as folder:
        if steps.pair.name != name:
            steps.pair.save(Path(folder) / "model")
            command += ["--model", Path(folder) / "model"]
        ran = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True)
    return json.loads(ran.stdout)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    with_steps = [FACTORISED, *STEP_DEFECTS]
    parser.add_argument("pairs", nargs="+")
    parser.add_argument("--only", action="append", choices=with_steps, metavar="DEFECT")
    parser.add_argument("--sizes", nargs="+", type=float)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--particles", type=int, default=64)
    options = parser.parse_args()
    done = {key_of(line) for line in read(JOINTS)}
    with JOINTS.open("a") as file:
        for name in options.pairs:
            pair = bm.load(name)
            for defect in options.only or with_steps:
                make, sizes = DEFECTS[defect]
                for size in sizes:
                    line = {"pair": name, "defect": defect, "size": size}
                    if key_of(line) in done or (options.sizes and size not in options.sizes):
                        continue
                    line |= measure(name, make(pair, size), options.rows, options.particles)
                    file.write(json.dumps(line) + "\n")
                    file.flush()
                    print(f"{name}: {defect} {size:g}, {line['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
