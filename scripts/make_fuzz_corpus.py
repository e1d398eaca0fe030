#!/usr/bin/env python3
"""Writes the inputs that the fuzzers start from: small files of each kind, made by the program.

    scripts/make_fuzz_corpus.py build/bridgemark [tests/fuzz/corpus]

Files named made-* are replaced; others in the folders, which once tripped a reader, are kept.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

GOLDEN_FILES = pathlib.Path(__file__).resolve().parents[1] / "tests" / "golden"
ROWS = 4  # of a test set: the protocol's 20,000 are too long for a corpus
BETWEEN = b"\n%%\n"  # two files of one input, as tests/fuzz/fuzz.h says
TINY = ["--components", "2", "--steps", "4", "--sigma", "0.8"]
CP = ["updates=2", "components=2", "batch_size=2", "log_every=1"]
# The order of tests/fuzz/checkpoint.cc.
TRAININGS = [
    ("dlightsb", CP),
    ("dlightsb-m", ["updates=2", "components=2", "batch_size=2", "num_steps=2"]),
    ("dlightsb-chain", ["updates=2", "states=2", "batch_size=2"]),
    (
        "csbm",
        [
            "updates_first=1",
            "imf_iterations=1",
            "batch_size=2",
            "num_steps=2",
            "hidden=3",
            "embedding_size=2",
            "initial=independent",
        ],
    ),
    ("dlightsb-tree", ["updates=2", "states=2", "batch_size=2", "source=chain"]),
]
EXPERIMENT = """name = "small"
description = "two grids"
[evaluation]
seeds = 2
num_steps = 2
trajectories = 3
conditional_samples = 2
c2st = false
[[grid]]
pairs = ["{pair}"]
solvers = ["oracle", "reference"]
seeds = [0, 1]
[[grid]]
pairs = ["{pair}"]
solvers = ["dlightsb-m"]
label = "two"
[grid.options]
loss = ["kl", "mse"]
num_steps = 2
updates = 2
components = 2
batch_size = 2
learning_rate = 0.5
"""


def with_blocks(line, step):
    """The line of a run whose one score has as many blocks as a paired comparison needs."""
    result = json.loads(line)
    blocks = {"rows": 25, "means": [step * i % 0.7 for i in range(10)]}
    result["scores"] = {
        "joint_kl": 4.5 * step,
        "standard_errors": {"joint_kl": 0.1 * step},
        "values": {"joint_kl": [4.5 * step]},
        "infinite": [],
        "missing": {},
        "blocks": {"joint_kl": blocks},
    }
    return json.dumps(result).encode() + b"\n"


def npy(dtype, shape, values):
    """The bytes of numpy.save."""
    size = "(" + "".join(f"{n}, " for n in shape) + ")"
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {size}}}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    code = {"<i4": "i", "<i8": "q", "<f8": "d", "|b1": "?"}[dtype]
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + struct.pack(f"<{len(values)}{code}", *values)
    )


def shorten(path):
    """Cuts the test set in a pair folder's tensors."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, payload = json.loads(data[8 : 8 + length]), data[8 + length :]
    tensors, end = b"", 0
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        first, last = tensor["data_offsets"]
        if name.endswith("_dataset"):
            last = first + (last - first) // tensor["shape"][0] * ROWS
            tensor["shape"][0] = ROWS
        tensors += payload[first:last]
        tensor["data_offsets"] = [end, len(tensors)]
        end = len(tensors)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + tensors)


class Corpus:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *arguments):
        subprocess.run(
            [self.program, *arguments, "--threads", "1"], check=True, stdout=subprocess.DEVNULL
        )

    def add(self, reader, name, *files):
        folder = self.folder / reader
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"made-{name}").write_bytes(BETWEEN.join(files))

    def pairs(self, work):
        (work / "matrix.npy").write_bytes(npy("<f8", (3, 3), [0.5, 0.25, 0.25] * 3))
        (work / "pmf.npy").write_bytes(npy("<f8", (2, 3), [0.5, 0.25, 0.25] * 2))
        (work / "states.npy").write_bytes(npy("<i4", (4, 2), [0, 1, 2, 0, 1, 1, 2, 2]))
        space = ["--dim", "2", "--categories", "3"]
        wide = ["--dim", "2", "--categories", "12", "--min-distance", "0", "--gamma", "0.5"]
        kinds = {
            "sphere": [*space, "--gamma", "2", "--radius", "1"],
            "uniform": [
                *space,
                "--reference",
                "uniform",
                "--gamma",
                "0.1",
                "--radius",
                "1",
                "--source",
                "uniform",
            ],
            "given": [
                "--reference",
                work / "matrix.npy",
                "--source",
                work / "pmf.npy",
                "--radius",
                "1",
            ],
            "states": [
                "--source",
                work / "states.npy",
                "--categories",
                "3",
                "--gamma",
                "2",
                "--radius",
                "1",
            ],
            "chain": [*wide, "--family", "chain"],
            "tree": [*wide, "--family", "tree"],
            "twosided": [*wide, "--family", "twosided", "--reverse"],
        }
        for kind, options in kinds.items():
            pair = work / kind
            self.run("build", "custom", *TINY, *options, "-o", pair)
            shorten(pair / "model.safetensors")
            self.add(
                "pair_folder",
                kind,
                (pair / "config.json").read_bytes(),
                (pair / "model.safetensors").read_bytes(),
            )
        self.add("safetensors", "pair", (work / "sphere" / "model.safetensors").read_bytes())
        self.add("json", "config", (work / "sphere" / "config.json").read_bytes())

    def arrays(self, work):
        self.add("npy", "matrix", (work / "matrix.npy").read_bytes())
        self.add("npy", "states", (work / "states.npy").read_bytes())
        self.add("npy", "cube", npy("<i8", (2, 2, 2), range(8)))
        self.add("npy", "bools", npy("|b1", (3,), [True, False, True]))
        for name in ("compressed", "stored"):  # by scipy.sparse.save_npz
            self.add("npz", name, (GOLDEN_FILES / f"ring_{name}.npz").read_bytes())
        self.run("sample", work / "sphere", "--what", "x0", "-n", "3", "-o", work / "x0.npy")
        self.add("npy", "sample", (work / "x0.npy").read_bytes())
        answers = npy("<i4", (ROWS, 2), [0, 1, 2, 0, 1, 1, 2, 2])
        conditional = npy("<i4", (1, 2, 2), [0, 1, 2, 0])
        self.add("predictions", "states", answers, conditional)
        self.add(
            "predictions",
            "probabilities",
            answers,
            conditional,
            npy("<f8", (1, 2, 3), [-1.0986122886681098] * 6),
            npy("<f8", (ROWS,), [-2.0] * 4),
        )

    def runs(self, work):
        pair = work / "sphere"
        for number, (solver, options) in enumerate(TRAININGS):
            run = work / solver
            sets = [word for option in options for word in ("--set", option)]
            self.run("train", solver, "--pair", pair, *sets, "-o", run)
            checkpoint = (run / "checkpoint.safetensors").read_bytes()
            self.add("checkpoint", solver, bytes([number]) + checkpoint)
            if solver != "dlightsb-m":
                self.add("model", solver, (run / "model.safetensors").read_bytes())
            self.add("training_log", solver, (run / "log.jsonl").read_bytes())
            self.add("options", solver, "\n".join(options).encode())
        self.run(
            "train",
            "sinkhorn",
            "--pair",
            pair,
            "--set",
            "rows=4",
            "--set",
            "smoothing=1",
            "-o",
            work / "sinkhorn",
        )
        self.add("model", "sinkhorn", (work / "sinkhorn" / "model.safetensors").read_bytes())
        states = work / "states.npy"
        self.run(
            "train",
            "dlightsb",
            "--x0",
            states,
            "--x1",
            states,
            "--gamma",
            "2",
            "--steps",
            "4",
            *[word for option in CP for word in ("--set", option)],
            "-o",
            work / "data",
        )
        self.add("data_file", "states", (work / "data" / "data.safetensors").read_bytes())
        self.run(
            "train",
            "dlightsb",
            "--x0",
            states,
            "--x1",
            states,
            "--reference",
            work / "matrix.npy",
            "--steps",
            "4",
            *[word for option in CP for word in ("--set", option)],
            "-o",
            work / "data2",
        )
        self.add("data_file", "matrix", (work / "data2" / "data.safetensors").read_bytes())

    def grids(self, work):
        pair = work / "sphere"
        experiment = work / "small.toml"
        experiment.write_text(EXPERIMENT.format(pair=pair))
        self.run("run", experiment, "-o", work / "grid")
        # No path of this machine in what is kept.
        clean = lambda data: data.replace(str(pair).encode(), b"tiny")
        self.add("experiment", "preset", EXPERIMENT.format(pair="d2-uniform-0.01").encode())
        self.add(
            "experiment",
            "pattern",
            b'name = "all"\n[[grid]]\npairs = ["d2-gaussian-0.0?"]\n'
            b'solvers = ["dlightsb"]\nseeds = [0, 1, 2]\noptions = {components = [2, 3]}\n',
        )
        lines = clean((work / "grid" / "results.jsonl").read_bytes()).splitlines(keepends=True)
        self.add("results", "oracle", lines[0])
        self.add("results", "two", lines[0] + lines[-1])
        self.add(
            "results",
            "paired",
            b"".join(with_blocks(line, step) for line, step in ((lines[0], 0.1), (lines[-1], 0.2))),
        )
        for name, run in enumerate(sorted((work / "grid" / "runs").iterdir())[:2]):
            self.add(
                "run_folder",
                str(name),
                *(
                    clean((run / file).read_bytes())
                    for file in ("config.toml", "result.json", "scores.json")
                ),
            )
        self.add("json", "result", clean((run / "result.json").read_bytes()))
        self.add(
            "run_text",
            "oracle",
            json.dumps(
                {
                    "id": "tiny.oracle.seed0",
                    "solver": "oracle",
                    "pair": "tiny",
                    "seed": 0,
                    "options": {},
                    "evaluation": {
                        "seed": 0,
                        "num_seeds": 1,
                        "num_trajectories": 3,
                        "conditional_samples": 2,
                        "c2st": False,
                        "num_steps": 2,
                    },
                }
            ).encode(),
        )

    def words(self):
        for name in (
            "d2-uniform-0.01",
            "d16-gaussian-0.02-spread-reverse",
            "d64-uniform-0.005-chain",
            "d2-gaussian-0.05-chain-0.25",
            "d2-gaussian-0.02-twosided",
            "dlightsb",
            "cuda",
        ):
            self.add("preset", name, name.encode())
        self.add("options", "csbm-widths", b"hidden=8,4\nschedule=cosine\nema=0.5")
        self.add("options", "paper", b"recipe=paper\ninit=gaussian\ninit_noise=auto")
        example = pathlib.Path(__file__).resolve().parent.parent / "examples" / "submission"
        whole = (example / "solver.toml").read_bytes()
        self.add("solver_file", "whole", whole)
        self.add("solver_file", "blank", whole.split(b"[[predictions]]")[0])
        claims = [(example / name).read_bytes() for name in ("results.jsonl", "results.csv")]
        self.add("submission", "whole", whole, *claims, b"")
        self.add("submission", "table-alone", whole, claims[0], b"", b"\x93NUMPY")
        for name, text in {"plain": "a b", "quotes": 'a,"b"\n', "formula": "=1+1"}.items():
            self.add("csv", name, text.encode())


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "tests/fuzz/corpus")
    for old in folder.glob("*/made-*"):
        old.unlink()
    corpus = Corpus(program, folder)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        corpus.pairs(work)
        corpus.arrays(work)
        corpus.runs(work)
        corpus.grids(work)
    corpus.words()
    golden = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
    corpus.add("verify", "reference", (golden / "reference_5.safetensors").read_bytes())
    corpus.add("verify", "bridge", (golden / "bridge_2.safetensors").read_bytes())
    corpus.add("verify", "sinkhorn", (golden / "sinkhorn_0.safetensors").read_bytes())
    corpus.add("verify", "tree", (golden / "tree_0.safetensors").read_bytes())


if __name__ == "__main__":
    main()
