#!/usr/bin/env python3
"""What steps drawn coordinate by coordinate cost on the truth's transitions: KLs of whole paths.

  studies/sampler_paths.py [PAIR...]   adds a line a pair and number of steps to
                                       results/defects/paths.jsonl

Takes every preset where no pair is named; what the file has is not measured again. Needs the Python
package and NumPy.
"""

import argparse
import json

import bridgemark as bm
from score_defects import JOINTS, STEPS, read
from truth_steps import path_kl

PATHS = JOINTS.parent / "paths.jsonl"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", nargs="*")
    options = parser.parse_args()
    done = {(line["pair"], line["steps"]) for line in read(PATHS)}
    with PATHS.open("a") as file:
        for name in options.pairs or bm.presets():
            pair = bm.load(name)
            for steps in sorted(STEPS):
                if (name, steps) in done:
                    continue
                kl, error = path_kl(pair, steps)
                line = {"pair": name, "steps": steps, "path_kl": kl, "standard_error": error}
                file.write(json.dumps(line) + "\n")
                file.flush()
            print(name, flush=True)


if __name__ == "__main__":
    main()
