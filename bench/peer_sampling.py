#!/usr/bin/env python3
"""Times the published package drawing joint pairs from folders written by `bridgemark build`.

    python peer_sampling.py FOLDER ... [--count N ...] [--repeats R] [--threads T] [--json FILE]

Needs catsbench (with torch) and safetensors. Each draw is timed as one call for all N pairs and, as
its temporaries grow with N, as calls of 2,000; the faster of the two stands for the package.
"""

import argparse
import importlib.metadata
import json
import os
import statistics
import sys
import time
from pathlib import Path

BATCH = 2000
# Between the marginals of 20,000 draws and those of the folder's 20,000 test rows, mean over the
# coordinates. Two samples of one law with 50 categories lie about 0.02 apart.
MAX_TOTAL_VARIATION = 0.03


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--count", type=int, nargs="+", default=[2000, 20000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", help="write the numbers to this file")
    return parser.parse_args()


def load(folder):
    from catsbench.benchmarks.hd import BenchmarkHD

    return BenchmarkHD.from_pretrained(str(Path(folder).resolve()), "", init_benchmark=False)


def total_variation(states, others, num_categories):
    """Mean over the coordinates of the total variation between two sets' marginals."""
    import torch

    def marginals(x):
        one_hot = torch.nn.functional.one_hot(x.T, num_categories)
        return one_hot.double().mean(dim=1)

    return 0.5 * (marginals(states) - marginals(others)).abs().sum(dim=1).mean().item()


def check(pair, name):
    """The package draws from the pair that the folder holds."""
    import torch

    torch.manual_seed(0)
    batches = [pair.sample_input_target(BATCH) for _ in range(10)]
    for side, dataset in enumerate((pair.input_dataset, pair.target_dataset)):
        drawn = torch.cat([batch[side] for batch in batches])
        distance = total_variation(drawn, dataset, pair.num_categories)
        if distance > MAX_TOTAL_VARIATION:
            sys.exit(f"check failed: {name}: draws of x{side} lie {distance:.3f} from the test set")


def draw(pair, count, batch):
    for first in range(0, count, batch):
        pair.sample_input_target(min(batch, count - first))


def time_draws(pair, count, batch, repeats):
    draw(pair, min(count, BATCH), BATCH)  # warm up
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        draw(pair, count, batch)
        times.append(time.perf_counter() - start)
    return times


def main():
    arguments = parse_arguments()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    import torch

    torch.set_num_threads(arguments.threads)
    cases = []
    for folder in arguments.folders:
        pair = load(folder)
        name = Path(folder).name
        check(pair, name)
        for count in arguments.count:
            calls = {"one_call": time_draws(pair, count, count, arguments.repeats)}
            if count > BATCH:
                calls["batches"] = time_draws(pair, count, BATCH, arguments.repeats)
            faster = min(calls, key=lambda key: statistics.median(calls[key]))
            case = {"pair": name, "dim": pair.dim, "count": count, "calls": calls, "faster": faster,
                    "seconds": calls[faster], "median_seconds": statistics.median(calls[faster])}
            cases.append(case)
            print(f"{name} n = {count}: {1e3 * case['median_seconds']:.1f} ms ({faster})", flush=True)
    result = {"bench": "peer_sampling", "threads": arguments.threads, "cases": cases,
              "catsbench": importlib.metadata.version("catsbench"), "torch": torch.__version__}
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
