#!/usr/bin/env python3
"""The operations of bridgemark.torch on a GPU: right, and at what cost beside a network.

    python3 bench/torch_operations.py [--folder python/bridgemark/torch] [--quick] [--cost]
        [--only REFERENCE]

Needs torch; with --folder no wheel, the package is read from there. Values and gradients of the
device against float64 on the CPU, draws against their laws, torch.compile and CUDA graphs against
eager calls; then the milliseconds of step_kl and pinned_sample beside a training step of a
Transformer. Prints one JSON object; where something is wrong, "wrong" names it and the exit is 1.
--quick is a small rehearsal, on the CPU too; --cost takes the milliseconds alone, --only
checks one reference alone: its name as errors have it.
"""

import argparse
import importlib.util
import json
import statistics
import sys
import time

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
# Largest errors, relative above 1. A gradient in bfloat16 is rounded to it.
LIMITS = {torch.float64: 1e-12, torch.float32: 4e-6, torch.bfloat16: 4e-6}
GRADIENT_LIMITS = {**LIMITS, torch.bfloat16: 2.0**-8}
MOST_STANDARD_ERRORS = 5.5  # of a frequency; false alarm 4e-8 each


def package_at(folder):
    if folder is None:
        import bridgemark.torch

        return bridgemark.torch
    spec = importlib.util.spec_from_file_location(
        "bridgemark_torch", f"{folder}/__init__.py", submodule_search_locations=[folder]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules["bridgemark_torch"] = package
    spec.loader.exec_module(package)
    return package


def references(Reference):
    ones = torch.ones(64, 3, dtype=torch.float64)
    mixed = ones / 64 + torch.rand(64, 3, generator=torch.Generator().manual_seed(2)) / 640
    return {
        "uniform S=50": Reference.uniform(50, 0.01),
        "uniform S=1000": Reference.uniform(1000, 0.01),
        "gaussian 0.02 S=50": Reference.gaussian(50, 0.02),
        "gaussian 0.05 S=50": Reference.gaussian(50, 0.05),
        "low rank S=64": Reference.low_rank(0.9, ones / 3, mixed / mixed.sum(0)),
    }


def problem(reference, rows=64, dim=8):
    """States, steps, logits and ends; a first and a last step and x1 = x among them."""
    draws = torch.Generator().manual_seed(1)
    size, steps = reference.num_categories, reference.num_steps
    x, x1 = (torch.randint(size, (rows, dim), generator=draws) for _ in range(2))
    x1[0] = x[0]
    n = torch.randint(steps, (rows,), generator=draws)
    n[:2] = torch.tensor([0, steps - 1])
    logits = 3 * torch.randn(rows, dim, size, generator=draws, dtype=torch.float64)
    return x, n, logits, x1


def relative(a, b):
    a, b = a.detach().double().cpu(), b.detach().double().cpu()
    if not torch.equal(torch.isfinite(a), torch.isfinite(b)):
        return float("inf")
    fine = torch.isfinite(b)
    return float(((a - b).abs() / b.abs().clamp(min=1.0))[fine].max())


def call(function, name, x, n, z, x1):
    """The value and the gradient of a weighted sum; likely states count, in changing measure."""
    z = z.detach().clone().requires_grad_()
    value = function(x, n, z, x1) if name == "step_kl" else function(x, n, z)
    weights = torch.linspace(1, 2, len(value), device=z.device).view(-1, *[1] * (value.dim() - 1))
    if name == "step":
        states = torch.arange(value.shape[-1], device=z.device, dtype=torch.float64)
        weights = weights * value.detach().exp() * states.cos()
    (value * weights).sum().backward()
    return value.detach(), z.grad


def parity(reference, errors, label):
    x, n, z, x1 = problem(reference)
    there = [part.to(DEVICE) for part in (x, n, x1)]
    for kind in LIMITS:
        for name in ("step", "step_kl"):
            function, rounded = getattr(reference, name), z.to(kind)
            expected = call(function, name, x, n, rounded.double(), x1)
            found = call(function, name, *there[:2], rounded.to(DEVICE), there[2])
            key = f"{label}, {name}, {str(kind)[6:]}"
            errors[key] = (relative(found[0], expected[0]), LIMITS[kind])
            errors[key + ", gradient"] = (relative(found[1], expected[1]), GRADIENT_LIMITS[kind])


def draws(reference, errors, label, count=200_000):
    """The largest deviation of a frequency from its law, in standard errors."""
    worst, size = 0.0, reference.num_categories
    x0, x1 = (torch.tensor([ends], device=DEVICE) for ends in ([3, 5], [3, 20]))
    s = torch.arange(size, device=DEVICE)
    for n in (0, 1, 8, 16):
        rows = torch.full((count,), n, device=DEVICE)
        drawn = reference.pinned_sample(x0.expand(count, 2), x1.expand(count, 2), rows)
        for d in range(2):
            law = reference.log_prob(x0[:, d, None], s[None], n)[0]
            law = (law + reference.log_prob(s[None], x1[:, d, None], 16 - n)[0]).softmax(-1)
            found = torch.bincount(drawn[:, d], minlength=size) / count
            if bool(found[law == 0].sum() > 0):
                worst = float("inf")
            z = (found - law).abs() / (law * (1 - law) / count).sqrt().clamp(min=1e-9)
            worst = max(worst, float(z[law > 1e-4].max()))
    errors[f"{label}, draws"] = (worst, MOST_STANDARD_ERRORS)


def compiled(reference, errors, label):
    x, n, z, x1 = (part.to(DEVICE) for part in problem(reference, rows=16))
    reference.to(DEVICE)
    for name in ("step", "step_kl"):
        function = getattr(reference, name)
        expected = call(function, name, x, n, z.float(), x1)
        found = call(torch.compile(function, fullgraph=True), name, x, n, z.float(), x1)
        for part, a, b in zip(("value", "gradient"), found, expected):
            errors[f"{label}, {name}, compiled, {part}"] = (relative(a, b), 4e-6)


def graphs(reference, errors, label):
    """Replays of a CUDA graph, which draw anew each time."""
    x, n, z, x1 = (part.to(DEVICE) for part in problem(reference))
    reference.to(DEVICE)
    for name in ("step", "step_kl"):
        function = getattr(reference, name)

        def work(name=name, function=function):
            return call(function, name, x, n, z.float(), x1), reference.pinned_sample(x, x1, n)

        expected = work()[0]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found, drawn = work()
        graph.replay()
        error = max(relative(a, b) for a, b in zip(found, expected))
        first = drawn.clone()
        graph.replay()
        anew = bool((first != drawn).any())
        errors[f"{label}, {name}, CUDA graph"] = (error if anew else float("inf"), 1e-12)


def milliseconds(work, repeats=30, warm=5):
    """Median of calls, each between two events of the device."""
    for _ in range(warm):
        work()
    times = []
    for _ in range(repeats):
        if DEVICE.type == "cuda":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        else:
            began = time.perf_counter()
            work()
            times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


def in_a_row(work, repeats=30):
    """Of each of many calls that the host sends ahead, as a training does."""
    return milliseconds(lambda: [work() for _ in range(repeats)], 3, 1) / repeats


def cost(package, quick):
    """Uniform S = 8192, D = 256, batch 64, bfloat16 logits: the parts of a training step."""
    S, D, B, N = (512, 16, 4, 16) if quick else (8192, 256, 64, 16)
    width, layers, heads = (64, 2, 2) if quick else (512, 5, 8)
    reference = package.Reference.uniform(S, 0.01, num_steps=N).to(DEVICE)
    network = package.networks.Transformer(D, S, N, width=width, layers=layers, heads=heads)
    network = network.to(DEVICE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=DEVICE.type == "cuda")
    x0, x1 = (torch.randint(S, (B, D), device=DEVICE) for _ in range(2))
    n = torch.randint(N, (B,), device=DEVICE)
    x = reference.pinned_sample(x0, x1, n)

    def logits_of(x):
        with torch.autocast(DEVICE.type, torch.bfloat16):
            return network(x, n)

    held = logits_of(x).detach()
    flow = torch.randn_like(held) * 1e-6

    def update(value, gradient=None):
        optimizer.zero_grad(set_to_none=True)
        value.backward(gradient)
        optimizer.step()

    def whole():
        x = reference.pinned_sample(x0, x1, n)
        update(reference.step_kl(x, n, logits_of(x), x1).mean())

    def loss():
        z = held.detach().requires_grad_()
        reference.step_kl(x, n, z, x1).mean().backward()

    parts = {
        "network": lambda: update(logits_of(x), flow),
        "step_kl": loss,
        "pinned_sample": lambda: reference.pinned_sample(x0, x1, n),
        "whole": whole,
    }

    def shares(measure):
        out = {name: measure(work) for name, work in parts.items()}
        added = out["step_kl"] + out["pinned_sample"]
        out["share_of_parts"] = added / (out["network"] + added)
        out["share_by_difference"] = 1.0 - out["network"] / out["whole"]
        return out

    out = {"parameters": sum(p.numel() for p in network.parameters()), **shares(milliseconds)}
    out["in_a_row"] = shares(lambda work: in_a_row(work, 3 if quick else 30))
    names = package.Reference.step_kl.__globals__["uniform_step_kl"].__globals__
    kernels = names["_kernels"]
    names["_kernels"] = lambda logits: None
    out["step_kl_without_kernels"] = milliseconds(loss, 10)
    names["_kernels"] = kernels
    if DEVICE.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        loss()
        extra = torch.cuda.max_memory_allocated() - before
        out["memory_of_step_kl_over_logits"] = extra / (held.numel() * held.element_size())
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="the package bridgemark.torch itself, not a wheel")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--only")
    arguments = parser.parse_args()
    package, errors = package_at(arguments.folder), {}
    checked = {} if arguments.cost else references(package.Reference)
    for label, reference in checked.items():
        if arguments.only not in (None, label):
            continue
        parity(reference, errors, label)
        draws(reference, errors, label)
        if hasattr(torch, "compile"):
            compiled(reference, errors, label)
        if DEVICE.type == "cuda":
            graphs(reference, errors, label)
    wrong = {name: pair for name, pair in errors.items() if not pair[0] <= pair[1]}
    result = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if DEVICE.type == "cuda" else "cpu",
        "errors": {name: error for name, (error, _) in errors.items()},
        "cost, ms": None if arguments.only else cost(package, arguments.quick),
        "wrong": wrong,
    }
    print(json.dumps(result, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
