#!/usr/bin/env python3
"""Which number without a truth deserves belief? Runs judged on data alone and by the truth.

  studies/proxies.py OUT.jsonl [--program build/bridgemark] [--device cpu|cuda] [--jobs 2]
                     [--minutes M] [--menu MENU]... [--only PATTERN] [--work FOLDER]

A cell is a pair, a number of rows n and a menu of solvers. Each solver is trained on n rows of
training set 0 and scored against the truth of the pair; then `evaluate --x0 --x1` compares all of
them on rows of training set 1, which chose and stopped nothing. OUT gets a line a cell: a cell
that it has is not measured again, and runs that FOLDER holds are not trained again. After M
minutes nothing is begun, and cells that are not whole are judged by the runs that they have.

Needs nothing but Python and the program.
"""

import argparse
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time

SIZES = (3000, 300, 10000)
FEWEST_RUNS = 4  # of a cell that time cut short
HELD_OUT = 3000  # rows that judge, at the most; of n rows as many again
FAMILIES = {  # the references of each family
    "": ("gaussian-0.05", "uniform-0.01"),
    "-spread": ("gaussian-0.02", "uniform-0.005"),
    "-chain": ("gaussian-0.05", "uniform-0.005"),
    "-twosided": ("gaussian-0.02", "uniform-0.01"),
}
DIMS = ((64, 16), (2,))  # the costly first

# Name -> solver and its options. The default and what is wrong with a training: too few components
# or updates, no smoothing, rows learned by heart.
BRIDGES = {
    "dlightsb-chain": ("dlightsb-chain", "states=8", "updates=2000"),
    "dlightsb": ("dlightsb",),
    "dlightsb-rough": ("dlightsb", "smoothing=0", "shrinkage=0"),
    "dlightsb-heart": ("dlightsb", "holdout=0", "components=1000", "updates=500"),
    "sinkhorn": ("sinkhorn",),
    "feature-wise": ("feature-wise",),
    "dlightsb-small": ("dlightsb", "components=2"),
    "dlightsb-hasty": ("dlightsb", "components=32", "updates=50", "refit=no"),
    "sinkhorn-rows": ("sinkhorn", "smoothing=0"),
    "independent": ("independent",),
    "reference": ("reference",),
}
LIGHT = {name: BRIDGES[name] for name in BRIDGES if name not in ("dlightsb-rough", "reference")}
FEW = {
    name: BRIDGES[name]
    for name in ("dlightsb", "dlightsb-chain", "dlightsb-small", "dlightsb-hasty", "feature-wise")
}
_NETWORK = ("num_steps=16", "hidden=128,128,128", "weight_decay=0.01")
_SHORT = (*_NETWORK, "imf_iterations=3", "updates_first=1500", "updates_later=500")
NETWORKS = {
    "csbm": ("csbm", *_SHORT, "refit=no"),
    "alpha-csbm": ("alpha-csbm", *_SHORT, "refit=no"),
    "csbm-heart": ("csbm", *_SHORT, "holdout=0"),
    "csbm-first": (
        "csbm",
        *_NETWORK,
        "imf_iterations=1",
        "updates_first=1500",
        "refit=no",
    ),
    "csbm-hasty": (
        "csbm",
        *_NETWORK,
        "imf_iterations=2",
        "updates_first=200",
        "updates_later=100",
        "holdout=0",
    ),
}
_BESIDE = ("dlightsb-chain", "dlightsb", "sinkhorn", "feature-wise", "independent")
MENUS = {
    "bridges": BRIDGES,
    "light": LIGHT,
    "few": FEW,
    "networks": NETWORKS | {name: BRIDGES[name] for name in _BESIDE},
}
ENDLESS = {"reference"}  # learns nothing from rows
ON_HOST = {"feature-wise", "independent", "reference"}  # quick; a GPU would be waited for

TRUTH = ("joint_kl", "joint_kl_bound", "joint_kl_rows", "joint_kl_half_particles_change")
TRUTH += ("joint_kl_worst_share", "conditional_shape_score", "conditional_trend_score")


def cells(menu):
    """(pair, n, menu), the most telling first; networks on one reference of each family."""
    for dims in DIMS:
        for n, dim, (family, references) in itertools.product(SIZES, dims, FAMILIES.items()):
            for reference in references[: 1 if menu == "networks" else None]:
                yield f"d{dim}-{reference}{family}", n, menu


def shortened(value):
    """A number of a file that need not say more."""
    return float(f"{value:.7g}") if isinstance(value, float) else value


class Cell:
    """One cell and what of it is done. The study's lock guards it."""

    def __init__(self, key, folder):
        self.pair, self.samples, self.menu = key
        self.folder = folder / f"{self.pair}.n{self.samples}.{self.menu}"
        self.waiting = list(MENUS[self.menu])
        self.running = 0
        self.truths = {}
        self.failures = {}
        self.judged = False

    def ready(self, late):
        """Whether its runs can be compared now."""
        over = not self.running and (late or not self.waiting)
        return over and not self.judged and len(self.truths) >= FEWEST_RUNS


class Study:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.program = str(pathlib.Path(options.program).resolve())
        self.out = pathlib.Path(options.out)
        done = set()
        if self.out.exists():
            lines = map(json.loads, self.out.read_text().splitlines())
            done = {(line["pair"], line["samples"], line["menu"]) for line in lines}
        wanted = re.compile(options.only)
        self.cells = [
            Cell(key, folder)
            for menu in options.menu
            for key in cells(menu)
            if key not in done and wanted.search(f"{key[0]}.n{key[1]}")
        ]
        self.lock = threading.Lock()
        self.started = time.monotonic()
        self.last_start = self.started + 60 * options.minutes
        self.end = self.last_start + options.grace

    def call(self, cell, *arguments, device=None):
        """Standard output of the program in the folder of a cell."""
        left = max(1.0, self.end - time.monotonic())
        device = device or self.options.device
        done = subprocess.run(
            [self.program, *arguments, "--threads", "1", "--device", device],
            cwd=cell.folder,
            capture_output=True,
            text=True,
            timeout=left,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        return done.stdout

    def fit(self, cell, name):
        """A run, trained and scored against the truth."""
        solver, *settings = MENUS[cell.menu][name]
        rows = [] if name in ENDLESS else ["--samples", str(cell.samples)]
        chosen = [word for setting in settings for word in ("--set", setting)]
        cell.folder.mkdir(parents=True, exist_ok=True)
        train = ["train", solver, "--pair", cell.pair, *rows, *chosen, "-o", name, "--resume"]
        device = "cpu" if name in ON_HOST else None
        found = json.loads(self.call(cell, *train, "--quiet", "--json", device=device))
        seconds = found["wall_seconds"]
        score = ["evaluate", cell.pair, "--run", name, "--conditional-samples", "200"]
        score += ["--trajectories", "1", "--max-seconds", "8", "--quiet", "--json"]
        found = json.loads(self.call(cell, *score, device=device))
        truth = {key: shortened(found[key]) for key in TRUTH if found.get(key) is not None}
        truth["standard_error"] = shortened(found["standard_errors"]["joint_kl"])
        truth["infinite"] = "joint_kl" in found["infinite"]
        truth["missing"] = found["missing"].get("joint_kl")
        blocks = found["blocks"].get("joint_kl", {})
        truth["blocks"] = [shortened(mean) for mean in blocks.get("means", [])]
        truth["train_seconds"] = round(seconds, 3)
        return truth

    def judge(self, cell):
        """The line of a cell: its runs compared on rows of another training set."""
        rows = min(cell.samples, HELD_OUT)
        self.call(
            cell, "kit", cell.pair, "--samples", str(rows), "--training-set", "1", "-o", "kit"
        )
        names = [name for name in MENUS[cell.menu] if name in cell.truths]
        runs = [word for name in names for word in ("--run", name)]
        ends = ["--x0", "kit/train_x0.npy", "--x1", "kit/train_x1.npy"]
        found = json.loads(self.call(cell, "evaluate", *ends, *runs, "--quiet", "--json"))
        keep = ("value", "standard_error", "beside")
        scores = {
            run["name"]: {
                name: {key: shortened(score[key]) for key in keep if score[key] is not None}
                for name, score in run["scores"].items()
                if score["missing"] is None
            }
            for run in found["runs"]
        }
        fields = ("first", "second", "difference", "standard_error")
        return {
            "pair": cell.pair,
            "samples": cell.samples,
            "menu": cell.menu,
            "held_out_rows": rows,
            "runs": [
                {"name": name, "settings": list(MENUS[cell.menu][name][1:])}
                | {"truth": cell.truths[name], "scores": scores[name]}
                for name in names
            ],
            "differences": [
                [shortened(each[field]) for field in fields]
                for each in found["differences"]
                if each["missing"] is None
            ],
            "failures": cell.failures,
            "left": cell.waiting,
            "device": found["device"],
            "machine": found["machine"],
            "version": found["version"],
        }

    def next_task(self):
        """(cell, the run to make or None to compare its runs); None: nothing to begin; "wait":
        something may come."""
        late = time.monotonic() > self.last_start
        for cell in self.cells:
            if cell.ready(late):
                cell.judged = True
                return cell, None
        if not late:
            for cell in self.cells:
                if cell.waiting:
                    cell.running += 1
                    return cell, cell.waiting.pop(0)
        return "wait" if any(cell.running for cell in self.cells) else None

    def work(self):
        while time.monotonic() < self.end:
            with self.lock:
                task = self.next_task()
            if task is None:
                return
            if task == "wait":
                time.sleep(0.2)
                continue
            cell, name = task
            try:
                self.judge_into(cell) if name is None else self.fit_into(cell, name)
            except (RuntimeError, subprocess.TimeoutExpired, KeyError, ValueError) as error:
                self.say(f"{cell.folder.name} {name or 'comparison'}: {str(error)[-300:]}")

    def fit_into(self, cell, name):
        begun = time.monotonic()
        truth, failure = None, None
        try:
            truth = self.fit(cell, name)
        except RuntimeError as error:
            failure = str(error)
            raise
        finally:
            with self.lock:
                cell.running -= 1
                if truth:
                    cell.truths[name] = truth
                elif failure:
                    cell.failures[name] = failure
        kl, took = truth.get("joint_kl", "no"), time.monotonic() - begun
        self.say(f"{cell.folder.name} {name}: {kl} nats, {took:.1f} s")

    def judge_into(self, cell):
        begun = time.monotonic()
        line = json.dumps(self.judge(cell)) + "\n"
        with self.lock, self.out.open("a") as file:
            file.write(line)
        self.say(f"{cell.folder.name}: compared in {time.monotonic() - begun:.1f} s")
        if not self.options.work:
            shutil.rmtree(cell.folder)

    def say(self, text):
        print(f"{time.monotonic() - self.started:6.1f} s  {text}", flush=True)

    def run(self):
        workers = [threading.Thread(target=self.work) for _ in range(self.options.jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        left = sum(not cell.judged for cell in self.cells)
        self.say(f"{len(self.cells) - left} cells compared, {left} left")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out")
    parser.add_argument("--program", default="build/bridgemark")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--jobs", type=int, default=2, help="trainings at once, a thread each")
    parser.add_argument("--minutes", type=float, default=1e4, help="after which nothing is begun")
    parser.add_argument("--grace", type=float, default=30.0, help="seconds to end what was begun")
    parser.add_argument("--only", default="", help="of cells such as d2-gaussian-0.05.n300")
    parser.add_argument(
        "--menu", action="append", choices=list(MENUS), help="default: bridges, networks"
    )
    parser.add_argument("--work", help="folder that keeps the runs (default: none is kept)")
    options = parser.parse_args()
    options.menu = options.menu or ["bridges", "networks"]
    if options.work:
        Study(options, pathlib.Path(options.work).resolve()).run()
    else:
        with tempfile.TemporaryDirectory() as folder:
            Study(options, pathlib.Path(folder)).run()


if __name__ == "__main__":
    main()
