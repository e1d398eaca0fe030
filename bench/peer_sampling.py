#!/usr/bin/env python3
"""Times the published package drawing joint pairs from folders written by `bridgemark build`.

    python peer_sampling.py FOLDER ... [--count N ...] [--repeats R] [--threads T] [--json FILE]
                            [--ours PROGRAM]

Needs catsbench (with torch) and safetensors. Each draw is timed as one call for all N pairs and, as
its temporaries grow with N, as calls of 2,000; the faster of the two stands for the package. With
--ours, the path of sampling_bench, every draw is followed at once by the same draw of ours, so that
what else runs on the machine hits both alike.
"""

import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BATCH = 2000
OURS_EACH = 5  # draws of ours after each draw of the package; their median counts
# Between the marginals of 20,000 draws and those of the folder's 20,000 test rows, mean over the
# coordinates. Two samples of one law with 50 categories lie about 0.016 apart.
MAX_TOTAL_VARIATION = 0.03


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--count", type=int, nargs="+", default=[2000, 20000])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ours", metavar="PROGRAM", help="path of sampling_bench, to take turns")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to this file")
    return parser.parse_args()


def load(folder):
    from catsbench.benchmarks.hd import BenchmarkHD

    return BenchmarkHD.from_pretrained(str(Path(folder).resolve()), "", init_benchmark=False)


def total_variation(states, others, num_categories):
    """Mean over the coordinates of the total variation between two sets' marginals."""
    import torch

    def marginals(x):
        return torch.nn.functional.one_hot(x.T, num_categories).double().mean(dim=1)

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


def time_draw(pair, count, batch):
    start = time.perf_counter()
    for first in range(0, count, batch):
        pair.sample_input_target(min(batch, count - first))
    return time.perf_counter() - start


class Ours:
    """sampling_bench, which checks its draws and then makes one whenever it is asked."""

    def __init__(self, program, folders, threads):
        self.process = subprocess.Popen(
            [program, "--pair", *folders, "--threads", str(threads), "--on-request"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in range(len(folders)):
            self.time_draw(index, BATCH)  # warm up, and wait for the checks

    def time_draw(self, index, count):
        self.process.stdin.write(f"{index} {count}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("sampling_bench stopped")
        return float(line)


def time_case(pair, index, count, repeats, ours):
    """Seconds of each repetition: {way: {"peer": [...], "ours": [...]}} for the ways to call."""
    ways = {"one call": count} | ({f"calls of {BATCH}": BATCH} if count > BATCH else {})
    times = {way: {"peer": [], "ours": []} for way in ways}
    for _ in range(repeats):
        for way, batch in ways.items():
            times[way]["peer"].append(time_draw(pair, count, batch))
            if ours:
                draws = [ours.time_draw(index, count) for _ in range(OURS_EACH)]
                times[way]["ours"].append(statistics.median(draws))
    return times


def main():
    arguments = parse_arguments()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    import torch

    torch.set_num_threads(arguments.threads)
    ours = Ours(arguments.ours, arguments.folders, arguments.threads) if arguments.ours else None
    cases = []
    for index, folder in enumerate(arguments.folders):
        pair, name = load(folder), Path(folder).name
        check(pair, name)
        for count in arguments.count:
            times = time_case(pair, index, count, arguments.repeats, ours)
            faster = min(times, key=lambda way: statistics.median(times[way]["peer"]))
            cases.append(
                {
                    "pair": name,
                    "dim": pair.dim,
                    "count": count,
                    "ways": times,
                    "faster": faster,
                    "seconds": times[faster]["peer"],
                    "ours_seconds": times[faster]["ours"],
                }
            )
            middle = 1e3 * statistics.median(times[faster]["peer"])
            print(f"{name} n = {count}: {middle:.1f} ms in {faster}", file=sys.stderr, flush=True)
    if arguments.json:
        result = {
            "bench": "peer_sampling",
            "threads": arguments.threads,
            "cases": cases,
            "catsbench": importlib.metadata.version("catsbench"),
            "torch": torch.__version__,
            "load_average": os.getloadavg()[0],
        }
        Path(arguments.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
