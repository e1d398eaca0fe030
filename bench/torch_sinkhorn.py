#!/usr/bin/env python3
"""Entropic transport between rows in PyTorch, as one would write it well: the kernel is streamed in
blocks of rows, each a matrix product in float32 and a logsumexp, so that memory is O(n D S). A
yardstick for `train sinkhorn`, nothing else.

    bridgemark kit d64-gaussian-0.02-spread --samples 100000 -o kit
    bench/torch_sinkhorn.py kit --device cuda
    bridgemark train sinkhorn --pair d64-gaussian-0.02-spread --samples 100000 -o run \\
      --set smoothing=0 --device cuda

Iterates until the marginal of x1 is right to the same total variation, and prints one JSON object:
iterations, seconds, peak memory of the device and the error.
"""

import argparse
import json
import re
import resource
import time
from pathlib import Path

import numpy as np
import torch

STEPS, CATEGORIES = 128, 50


def log_reference(pair, device):
    """log of the reference's law after all steps, [S,S]; the name of a preset says which it is."""
    kind, gamma = re.search(r"(gaussian|uniform)-([0-9.]+)", pair).groups()
    gamma, s = float(gamma), CATEGORIES
    if kind == "uniform":
        q = np.full((s, s), gamma / (s - 1))
    else:
        delta = np.arange(s)[:, None] - np.arange(s)
        weight = np.exp(-4.0 * delta**2 / (gamma * (s - 1)) ** 2)
        far = np.arange(-(s - 1), s)
        q = weight / np.exp(-4.0 * far**2 / (gamma * (s - 1)) ** 2).sum()
    np.fill_diagonal(q, 0.0)
    np.fill_diagonal(q, 1.0 - q.sum(1))
    power = np.linalg.matrix_power(q, STEPS)
    return torch.tensor(np.log(np.maximum(power, 1e-300)), dtype=torch.float32, device=device)


def one_hot(x):
    """[n, D S], by which a product sums entries of a row's table."""
    return torch.nn.functional.one_hot(x, CATEGORIES).flatten(1).float()


def log_sums(log_q, rows, others, potential, block):
    """logsumexp over j of log k_ij + potential_j for each row i, a block of rows at a time."""
    table = one_hot(others).T.contiguous()  # [D S, n]
    sums = torch.empty(len(rows), dtype=torch.float64, device=log_q.device)
    for first in range(0, len(rows), block):
        logits = log_q[rows[first : first + block]].flatten(1) @ table
        sums[first : first + block] = torch.logsumexp(logits + potential.float(), dim=1).double()
    return sums


def solve(log_q, x0, x1, tolerance, block, most):
    """Sinkhorn's iteration; the potential h of x1, the number of iterations and the error."""
    h = torch.zeros(len(x1), dtype=torch.float64, device=log_q.device)
    for iteration in range(1, most + 1):
        f = -np.log(len(x0)) - log_sums(log_q, x0, x1, h, block)
        log_marginal = h + log_sums(log_q.T, x1, x0, f, block)
        error = 0.5 * (log_marginal.exp() - 1.0 / len(x1)).abs().sum().item()
        if error <= tolerance:
            break
        h = h - log_marginal - np.log(len(x1))
    return h, iteration, error


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kit", type=Path, help="folder of `bridgemark kit PAIR --samples N`")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--block", type=int, default=2048, help="rows at a time")
    parser.add_argument("--iterations", type=int, default=1000, help="at the most")
    args = parser.parse_args()
    pair = json.loads((args.kit / "kit.json").read_text())["pair"]
    x0, x1 = (
        torch.tensor(np.load(args.kit / f"train_{end}.npy"), dtype=torch.long, device=args.device)
        for end in ("x0", "x1")
    )
    log_q = log_reference(pair, args.device)
    on_card = log_q.is_cuda
    solve(log_q, x0[:4096], x1[:4096], args.tolerance, args.block, 2)  # warm
    if on_card:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    _, iterations, error = solve(log_q, x0, x1, args.tolerance, args.block, args.iterations)
    print(
        json.dumps(
            {
                "pair": pair,
                "rows": [len(x0), len(x1)],
                "iterations": iterations,
                "seconds": round(time.perf_counter() - started, 3),
                "error": error,
                "peak_mib": torch.cuda.max_memory_allocated() // 2**20
                if on_card
                else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                "torch": torch.__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
