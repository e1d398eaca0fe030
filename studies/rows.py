#!/usr/bin/env python3
"""The solvers of bridgemark.torch on pairs of every family, in both directions.

  studies/rows.py OUT.jsonl [--part rows|longer] [--jobs 12] [--seconds 540] [--device cuda]

trains each cell once and adds a line for each direction: the scores of `bridgemark.evaluate`, the
seconds and the updates. Cells whose lines are there are not made again, so that a study may end
after --seconds and go on later. Cells come in the order of what they tell: endless draws before
10,000 rows, the gaussian reference before the uniform one. Processes share the device; each takes
the next cell. --only has names of cells in part, --tiny makes a rehearsal of them.

  rows     seven solvers, MLPs of one width and about 3,000 updates each
  longer   a longer training: CSBM by the recipe of the library's own, convolutions and attention
           on a chain, and autoregressive bridges where modes lie far apart

Needs the wheel and torch. Joint KLs of solvers with steps come from 32 particles for 200 rows or
as many as 5 seconds allow, and are upper bounds. Networks multiply in TensorFloat-32 on a GPU.
"""

import argparse
import dataclasses
import fcntl
import fnmatch
import json
import multiprocessing
import pathlib
import time
import traceback

FAMILIES = ("-spread", "-chain", "", "-twosided")
REFERENCES = {16: ("gaussian-0.02", "uniform-0.005"), 64: ("gaussian-0.02",)}
SET = 10_000  # rows of either end, where they are not endless
STEPS = 16
HIDDEN = (512, 512, 512)

ITERATED = {"imf_iterations": 3, "updates_first": 1000, "updates_later": 250}
ONCE = {"updates": 1500}
SHARED = {"initial_pairs": 16384, "refit": False, "log_every": 250}
PLAN = {"updates": 6600, "log_every": 250}
ROWS = {
    "csbm": ("CSBM", ITERATED | SHARED),
    "flow-ot": ("FlowMatching", ONCE | SHARED),
    "autoregressive": ("AutoregressiveBridge", ITERATED | SHARED),
    "ddsbm": ("DDSBM", ITERATED | SHARED),
    "flow-independent": ("FlowMatching", ONCE | SHARED | {"initial": "independent"}),
    "cnot": ("CNOT", PLAN),
    "alpha-csbm": ("AlphaCSBM", ITERATED | SHARED),
}
EVALUATION = {"num_seeds": 1, "num_trajectories": 300, "particles": 32, "max_seconds": 5.0}
TINY = {"updates_first": 20, "updates_later": 10, "imf_iterations": 2, "updates": 20}
TINY_EVALUATION = {"conditional_samples": 20, "num_trajectories": 20, "particles": 2}


@dataclasses.dataclass(frozen=True)
class Cell:
    """One training; `pair` is the forward one, which the other direction is made of."""

    row: str
    pair: str
    samples: int
    solver: str
    options: dict
    network: str = "MLP"
    settings: dict = dataclasses.field(default_factory=lambda: {"hidden": HIDDEN})
    seed: int = 0
    ends: tuple = ("", "-reverse")  # directions in the order that they are scored in

    @property
    def name(self):
        return f"{self.pair}.{self.row}.n{self.samples or 'inf'}.seed{self.seed}"


def rows():
    """What tells most comes first; CNOT, which needs far more updates, and α-CSBM come last."""
    cells, last = [], []
    for samples in (0, SET):
        for place in (0, 1):
            for dim in REFERENCES:
                for reference in REFERENCES[dim][place : place + 1]:
                    for row, (solver, options) in ROWS.items():
                        for family in FAMILIES:
                            pair = f"d{dim}-{reference}{family}"
                            cell = Cell(row, pair, samples, solver, options)
                            (last if row in ("cnot", "alpha-csbm") else cells).append(cell)
    return cells + last


def longer():
    """Trainings that something is asked of."""
    apart, chain = "d64-gaussian-0.02-spread", "d64-gaussian-0.02-chain"
    library = {"imf_iterations": 5, "updates_first": 3000, "updates_later": 1000}
    network = {"imf_iterations": 4, "updates_first": 5000, "updates_later": 1500}
    bridge = {"imf_iterations": 3, "updates_first": 5000, "updates_later": 1500, "points": 8}
    bridge |= {"batch_size": 256, "learning_rate": 5e-4}
    widths = {"hidden": (128, 128, 128)}
    tokens = {"width": 128, "layers": 4, "heads": 4}
    channels = {"width": 128, "blocks": 6, "kernel": 5}
    back = {"ends": ("-reverse", "")}
    wide, wider = {"hidden": (512,) * 4}, {"hidden": (1024,) * 4, "embedding": 16}
    more = {"log_every": 250}
    return [
        Cell("convolution", chain, 0, "CSBM", network | more, "Convolution", channels),
        Cell("attention", chain, 0, "CSBM", network | more, "Transformer", tokens),
        Cell("wide", apart, 0, "AutoregressiveBridge", bridge | more, "MLP", wide, **back),
        Cell("wider", apart, 0, "AutoregressiveBridge", bridge | more, "MLP", wider, **back),
        *(
            Cell("library", "d16-gaussian-0.02-spread", 0, "CSBM", library | more, "MLP", widths, s)
            for s in (0, 1)
        ),
    ]


PARTS = {"rows": rows, "longer": longer}


def fitted(cell, pair, device, tiny):
    """The model and the seconds that it took."""
    import bridgemark.torch as solvers
    import torch
    from bridgemark.torch import networks

    torch.manual_seed(cell.seed)
    kind = getattr(solvers, cell.solver)
    options = dict(cell.options)
    if tiny:
        options |= {key: value for key, value in TINY.items() if key in options}
        options |= {"initial_pairs": 1024} if "initial_pairs" in options else {}
    steps = {"AutoregressiveBridge": 3 * pair.dim, "CNOT": 1}.get(cell.solver, STEPS)
    network = getattr(networks, cell.network)(pair.dim, pair.num_categories, steps, **cell.settings)
    if cell.solver == "CNOT":
        options["potential"] = networks.Potential(pair.dim, pair.num_categories)
    model = kind(network, pair, device=device, **options)
    began = time.monotonic()
    model.fit(pair, samples=cell.samples, seed=cell.seed)
    return model, time.monotonic() - began


def lines_of(cell, device, tiny):
    """One for each direction. A plan has one, so the other is a training of its own."""
    import bridgemark as bm

    settings = EVALUATION | (TINY_EVALUATION if tiny else {})
    model, seconds = fitted(cell, bm.load(cell.pair), device, tiny)
    for end in cell.ends:
        pair = bm.load(cell.pair + end)
        if cell.solver == "CNOT":
            coupling = model
            if end:
                coupling, seconds = fitted(cell, pair, device, tiny)
        else:
            coupling = model.reversed() if end else model
        began = time.monotonic()
        result = bm.evaluate(pair, coupling, samples=cell.samples, label=cell.row, **settings)
        yield {
            "cell": cell.name,
            "row": cell.row,
            "pair": pair.name,
            "samples": cell.samples,
            "training_seconds": round(seconds, 1),
            "evaluate_seconds": round(time.monotonic() - began, 1),
            "updates": model.history[-1]["update"],
            "network": {"name": cell.network, **cell.settings},
            "options": model.recipe.options,
            "result": dict(result),
        }


def add(file, line):
    """Whole lines, of processes that write at the same time."""
    with open(file, "a") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        out.write(json.dumps(line) + "\n")


def work(place, arguments, turns, ends_at):
    """The cells of one process, one after another."""
    import torch

    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")  # TensorFloat-32 in products of the networks
    longest = 0.0
    while (index := turns.get()) is not None:
        cell, began = arguments.cells[index], time.time()
        if began + longest > ends_at:
            break
        try:
            for line in lines_of(cell, arguments.device, arguments.tiny):
                add(arguments.out, line)
                kl = line["result"]["joint_kl"]
                print(f"{time.time() - arguments.began:6.1f} s {place:2} {line['pair']} "
                      f"{cell.row} n{cell.samples}: joint KL {kl}, trained in "
                      f"{line['training_seconds']} s, scored in {line['evaluate_seconds']} s",
                      flush=True)  # fmt: skip
        except Exception:
            print(f"{cell.name} failed\n{traceback.format_exc()}", flush=True)
        longest = max(longest, time.time() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--part", choices=PARTS, default="rows")
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="*", help="cells whose name fits, as a shell would")
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    arguments.began = time.time()
    lines = arguments.out.read_text().splitlines() if arguments.out.exists() else []
    done = [json.loads(line)["cell"] for line in lines]
    cells = [cell for cell in PARTS[arguments.part]() if done.count(cell.name) < 2]
    arguments.cells = [cell for cell in cells if fnmatch.fnmatch(cell.name, arguments.only)]
    context = multiprocessing.get_context("spawn")
    jobs = min(arguments.jobs, len(arguments.cells))
    turns, ends_at = context.Queue(), arguments.began + arguments.seconds
    for turn in [*range(len(arguments.cells)), *[None] * jobs]:
        turns.put(turn)
    processes = [
        context.Process(target=work, args=(i, arguments, turns, ends_at), daemon=True)
        for i in range(jobs)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(max(0.0, ends_at - time.time()))
    for process in processes:
        process.terminate()
    turns.cancel_join_thread()
    made = {json.loads(line)["cell"] for line in arguments.out.read_text().splitlines()}
    missing = [cell.name for cell in arguments.cells if cell.name not in made]
    print(f"{len(arguments.cells) - len(missing)} of {len(arguments.cells)} cells; missing:")
    print("\n".join(missing))


if __name__ == "__main__":
    main()
