#!/usr/bin/env python3
"""The CSBM of the library beside that of bridgemark.torch: the same network, recipe and pair, their
scores over some trainings and the milliseconds of an update. Needs the wheel and torch.

    python3 bench/torch_csbm.py --pair d16-gaussian-0.02-spread --seeds 3
"""

import argparse
import statistics

import torch
from bridgemark.torch import CSBM, networks

import bridgemark as bm

SCORES = ("shape_score", "conditional_shape_score", "forward_trajectory_kl", "joint_kl")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pair", default="d16-gaussian-0.02-spread")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--num-steps", type=int, default=16)
    parser.add_argument("--first", type=int, default=1000, help="updates_first")
    parser.add_argument("--later", type=int, default=300, help="updates_later")
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    pair = bm.load(arguments.pair)
    recipe = {
        "updates_first": arguments.first,
        "updates_later": arguments.later,
        "imf_iterations": arguments.iterations,
        "initial_pairs": 8192,
        "batch_size": 128,
        "points": 4,
        "weight_decay": 0.01,
    }
    updates = 2 * (arguments.first + (arguments.iterations - 1) * arguments.later)

    def library(seed):
        solver = bm.CSBM(num_steps=arguments.num_steps, hidden=[128] * 3, **recipe)
        solver.fit(pair, seed=seed)
        return solver, float(solver.history["seconds"][-1])

    def in_torch(seed):
        torch.manual_seed(seed)
        network = networks.MLP(pair.dim, pair.num_categories, arguments.num_steps)
        model = CSBM(network, pair, num_steps=arguments.num_steps, **recipe)
        model.fit(pair, seed=seed)
        return model, model.history[-1]["seconds"]

    print(f"{arguments.pair}, {updates} updates, torch {torch.__version__}")
    for label, train in (("library", library), ("torch", in_torch)):
        results, seconds = [], []
        for seed in range(arguments.seeds):
            solver, took = train(seed)
            seconds.append(took)
            print(f"{label:8} seed {seed}: trained in {took:.0f} s", flush=True)
            results.append(bm.evaluate(pair, solver, conditional_samples=50, particles=16))
        for score in SCORES:
            values = [result[score] for result in results]
            spread = statistics.stdev(values) if len(values) > 1 else float("nan")
            print(f"{label:8} {score:24} {statistics.mean(values):9.4f} +- {spread:.4f}")
        print(f"{label:8} {'ms an update':24} {1e3 * statistics.median(seconds) / updates:9.2f}")


if __name__ == "__main__":
    main()
