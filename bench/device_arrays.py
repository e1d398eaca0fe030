"""Times what Python asks of a GPU's arrays: draws from a torch tensor, and batches for a loop.

    PYTHONPATH=build-gpu/python python3 bench/device_arrays.py [--json FILE]

Limits: 20,000 conditional draws at D = 64 in 0.5 ms, a batch of 512 in 0.1 ms.
"""

import argparse
import json
import statistics
import time

import torch

import bridgemark as bm


def milliseconds(work, repeats):
    """Median of single calls, each waited for."""
    times = []
    for i in range(repeats + 5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work(i)
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[5:])


def share_of_a_training(pair, steps=2000):
    """How much of a torch training loop's time its batches take: both, and the network alone."""
    D, S = pair.dim, pair.num_categories
    network = torch.nn.Sequential(
        torch.nn.Embedding(S, 16),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * D, 512),
        torch.nn.ReLU(),
        torch.nn.Linear(512, D * S),
    ).cuda()
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)

    def update(x0, x1):
        logits = network(x0).view(-1, S)
        loss = torch.nn.functional.cross_entropy(logits, x1.reshape(-1).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def seconds(batches):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            update(*next(batches))
        torch.cuda.synchronize()
        return time.perf_counter() - start

    batches = pair.batches(512, seed=1, device="cuda")
    one = next(batches)

    def same():
        while True:
            yield one

    seconds(same())
    alone = seconds(same())
    return alone, seconds(batches)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="also write the numbers to this file")
    parser.add_argument("--repeats", type=int, default=101)
    options = parser.parse_args()
    pair = bm.load("d64-gaussian-0.02")
    x0 = torch.as_tensor(pair.sample_x0(20000, seed=1), device="cuda")
    on_host = pair.sample_conditional(x0.cpu().numpy(), seed=7)
    different = (pair.sample_conditional(x0, seed=7).cpu().numpy() != on_host).sum()
    assert different <= on_host.size / 1e5, f"{different} draws differ from the host's"
    batches = pair.batches(512, seed=1, device="cuda")
    rows = {
        "20000_conditional_draws_ms": milliseconds(
            lambda i: pair.sample_conditional(x0, seed=i), options.repeats
        ),
        "batch_512_ms": milliseconds(lambda i: next(batches), options.repeats),
    }
    alone, fed = share_of_a_training(pair)
    rows["torch_training_alone_s"], rows["torch_training_fed_s"] = alone, fed
    for name, value in rows.items():
        print(f"{name:32} {value:.4f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file)
    return 0 if rows["20000_conditional_draws_ms"] <= 0.5 and rows["batch_512_ms"] <= 0.1 else 1


if __name__ == "__main__":
    raise SystemExit(main())
