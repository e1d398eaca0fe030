#!/usr/bin/env python3
"""One training step of DLightSB and DLightSB-M in PyTorch, as one would write it well: batched
matrix products and gathers, no [B,D,S,K] tensor, autograd, AdamW with foreach. A yardstick for
training_bench, nothing else.

Reads a golden-style problem from the command line and prints one JSON object with the median
milliseconds of a step and the losses, which training_bench compares with its own.
"""

import argparse
import json
import statistics
import time

import numpy as np
import torch


def static_step(log_beta, log_cores, q, x0, x1):
    """mean log c(x0) - mean log v(x1); log_cores [D,S,K], q [S,S]."""
    high = log_cores.detach().amax(dim=1, keepdim=True)
    log_u = torch.log(torch.matmul(q, torch.exp(log_cores - high))) + high
    index = torch.arange(log_cores.shape[0], device=log_cores.device)
    log_c = torch.logsumexp(log_beta + log_u[index, x0].sum(1), dim=1)
    log_v = torch.logsumexp(log_beta + log_cores[index, x1].sum(1), dim=1)
    return log_c.mean() - log_v.mean()


def matching_step(log_beta, log_cores, powers, x_n, x1, n):
    """KL of the pinned step to the model's marginal transitions; powers [M+1,S,S]."""
    steps = powers.shape[0] - 1
    rest = steps - n
    high = log_cores.detach().amax(dim=1, keepdim=True)  # [D,1,K]
    cores = torch.exp(log_cores - high)  # [D,S,K]
    source = powers[rest[:, None], x_n].transpose(0, 1)  # [D,B,S]
    log_r = torch.log(torch.bmm(source, cores))  # [D,B,K]
    total = log_beta + (log_r + high).sum(0)  # [B,K]
    others = total - log_r
    weights = torch.exp(others - others.detach().amax(dim=2, keepdim=True))
    mixed = torch.bmm(weights, cores.transpose(1, 2))  # [D,B,S]
    after = powers[rest - 1]  # [B,S,S]
    y = torch.bmm(after, mixed.permute(1, 2, 0)).permute(2, 0, 1)  # [D,B,S]
    one = powers[1][x_n].transpose(0, 1)  # [D,B,S]
    model = one * y
    model = model / model.sum(2, keepdim=True)
    with torch.no_grad():
        ends = after.transpose(1, 2)[torch.arange(len(n), device=n.device)[:, None], x1].transpose(
            0, 1
        )
        target = one * ends
        target = target / target.sum(2, keepdim=True)
    loss = torch.where(target > 0, target * (torch.log(target) - torch.log(model)), 0.0)
    return loss.sum((0, 2)).mean()


def capture(step):
    """The step as a CUDA graph, as one replays it in a training loop."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay():
        graph.replay()
        torch.cuda.synchronize()

    return replay


def median_ms(step, repeats):
    step()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="problem written by training_bench --dump")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    cuda = arguments.device == "cuda"
    load = lambda name: torch.from_numpy(np.load(f"{arguments.folder}/{name}.npy")).to(
        arguments.device
    )
    powers = load("powers").float()
    states = {name: load(name).long() for name in ("x0", "x1", "x_n", "n")}
    result = {"torch": torch.__version__}
    for name in ("dlightsb", "dlightsb-m"):
        log_beta = load("log_beta").float().requires_grad_()
        log_cores = load("log_cores").float().requires_grad_()
        optimiser = torch.optim.AdamW(
            [log_beta, log_cores],
            lr=1e-2,
            betas=(0.95, 0.99),
            weight_decay=0.0,
            foreach=None if cuda else True,
            fused=cuda or None,
            capturable=cuda,
        )

        def loss():
            if name == "dlightsb":
                return static_step(log_beta, log_cores, powers[-1], states["x0"], states["x1"])
            return matching_step(
                log_beta, log_cores, powers, states["x_n"], states["x1"], states["n"][:, 0]
            )

        def step():
            optimiser.zero_grad(set_to_none=not cuda)
            loss().backward()
            optimiser.step()

        with torch.no_grad():
            first = float(loss())
        timed = capture(step) if cuda else step
        result[name] = {"ms": median_ms(timed, arguments.repeats), "loss": first}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
