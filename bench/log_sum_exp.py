#!/usr/bin/env python3
"""Log-sum-exp terms a second on a GPU, all in float32: the kernel of DLightSB that takes, for each
row of a batch, the log-sum-exp over the components of a sum over D table entries (timed by ncu
within `train`); the same in PyTorch; and FlashSinkhorn's kernel, a log-sum-exp over points of a dot
product of D numbers, where that package is installed (it tunes itself for half a minute at each
size). A term is one exponential in a sum; each has D additions or multiplications.

  python3 bench/log_sum_exp.py --program build-gpu/bridgemark [--json FILE]
"""

import argparse
import csv
import json
import re
import statistics
import subprocess
import tempfile

import torch

DIM, CATEGORIES = 64, 50


def median_seconds(work, repeats=30):
    """Of the device, by events around one call."""
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(1e-3 * start.elapsed_time(end))
    return statistics.median(times)


def ours(program, rows, components):
    """Seconds of the kernel, which also leaves the weights that the gradient needs; both ends of a
    row.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "ncu",
            "--csv",
            "--clock-control",
            "none",
            "--kernel-name",
            "regex:gather",
            "--metrics",
            "gpu__time_duration.sum",
            program,
            "train",
            "dlightsb",
            "--pair",
            f"d{DIM}-gaussian-0.02",
            "-o",
            f"{folder}/run",
            "--device",
            "cuda",
        ]
        for setting in (f"batch_size={rows}", f"components={components}", "updates=8"):
            command += ["--set", setting]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = printed[printed.index('"ID"') :].splitlines()
    scale = {"ns": 1e-9, "us": 1e-6, "usecond": 1e-6, "nsecond": 1e-9, "ms": 1e-3, "msecond": 1e-3}
    seconds = [
        float(re.sub(",", "", line["Metric Value"])) * scale[line["Metric Unit"]]
        for line in csv.DictReader(lines)
    ]
    return statistics.median(seconds)


def in_torch(rows, components):
    """One end of the rows: gathers and a log-sum-exp, in as many parts as keep the gathered entries
    small.
    """
    log_beta = torch.randn(components, device="cuda")
    log_cores = torch.randn(DIM, CATEGORIES, components, device="cuda")
    x = torch.randint(0, CATEGORIES, (rows, DIM), device="cuda")
    index = torch.arange(DIM, device="cuda")

    def work():
        for part in x.split(512):
            torch.logsumexp(log_beta + log_cores[index, part].sum(1), dim=1)

    compiled = torch.compile(
        lambda part: torch.logsumexp(log_beta + log_cores[index, part].sum(1), dim=1)
    )

    def fused():
        for part in x.split(512):
            compiled(part)

    try:
        fused_seconds = median_seconds(fused)
    except Exception as error:  # a machine without a compiler for it
        print(f"torch.compile: {str(error).splitlines()[0]}")
        fused_seconds = None
    return median_seconds(work), fused_seconds


def flash(rows, points, tf32):
    from flash_sinkhorn.kernels.sinkhorn_flashstyle_sqeuclid import flashsinkhorn_lse

    x, y = (torch.randn(count, DIM, device="cuda") for count in (rows, points))
    bias = torch.randn(points, device="cuda")
    return median_seconds(lambda: flashsinkhorn_lse(x, y, bias, 1.0, allow_tf32=tf32))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, help="the bridgemark of a CUDA build")
    parser.add_argument("--json", help="also write the numbers there")
    arguments = parser.parse_args()
    results = []

    def report(name, rows, count, ends, seconds):
        rate = ends * rows * count / seconds
        results.append(
            {
                "kernel": name,
                "rows": rows,
                "components": count,
                "us": 1e6 * seconds,
                "terms_a_second": rate,
            }
        )
        print(
            f"{name:32} {rows:6} x {count:6}: {1e6 * seconds:9.1f} us, "
            f"{1e-9 * rate:8.1f} G terms/s",
            flush=True,
        )
        if arguments.json:
            with open(arguments.json, "w") as file:
                json.dump(results, file, indent=1)

    for rows, components in ((512, 1000), (2048, 1000), (4096, 4096)):
        report("bridgemark, gather", rows, components, 2, ours(arguments.program, rows, components))
        eager, fused = in_torch(rows, components)
        report("torch, gather", rows, components, 1, eager)
        if fused is not None:
            report("torch.compile, gather", rows, components, 1, fused)
    try:
        for rows, points in ((2048, 1000), (4096, 4096), (32768, 32768)):
            for tf32 in (False, True):
                report(
                    "FlashSinkhorn" + (", tf32 products" if tf32 else ""),
                    rows,
                    points,
                    1,
                    flash(rows, points, tf32),
                )
    except ImportError:
        print("FlashSinkhorn: not installed (pip install flash-sinkhorn)")


if __name__ == "__main__":
    main()
