#!/usr/bin/env python3
"""Trains one model on several ranks by mpirun, breaks it in many ways and compares what comes out.

    tests/system/ranks_test.py build/bridgemark-mpi [--without-mpi build/bridgemark] [--kills 4]
    [--seed 1]

The model and the losses of 2 and 3 ranks must be those of one process, byte for byte, also where
ranks were killed (SIGKILL to one of them, SIGTERM to all) and the run went on with another number
of them; sample must draw the same states. The program without MPI, other solvers, other commands,
and ranks with different runs must be refused in one line. Exits 1 where anything differs; does
nothing, aloud, where mpirun is not installed.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

OPTIONS = [
    "components=700",
    "batch_size=64",
    "updates=400",
    "entropy=0.01",
    "log_every=50",
    "checkpoint_every=0",
    "source=none",
]
# More ranks than cores: one that waits lets others run.
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]


class Runs:
    """Trainings of one pair by one program."""

    def __init__(self, program, folder):
        self.program, self.folder, self.wrong = program, folder, 0
        self.pair = folder / "pair"
        run(
            [
                program,
                "build",
                "custom",
                "--categories",
                "8",
                "--sigma",
                "0.8",
                "--gamma",
                "0.2",
                "-o",
                self.pair,
            ]
        )

    def train(self, name, solver="dlightsb", options=OPTIONS):
        sets = sum((["--set", option] for option in options), [])
        return [
            self.program,
            "train",
            solver,
            "--pair",
            self.pair,
            "--threads",
            "1",
            *sets,
            "-o",
            self.folder / name,
        ]

    def expect(self, holds, what):
        print(f"{what}: {'ok' if holds else 'FAILED'}", flush=True)
        self.wrong += not holds

    def same(self, name):
        one, other = self.folder / "one", self.folder / name
        return (one / "model.safetensors").read_bytes() == (
            other / "model.safetensors"
        ).read_bytes() and log(one) == log(other)

    def expect_refusal(self, what, command, line):
        result = run(command, check=False)
        said = [text for text in result.stderr.splitlines() if text.startswith("bridgemark: ")]
        holds = result.returncode == 2 and len(said) == 1 and re.search(line, said[0])
        self.expect(holds, f"refused: {what}")
        if not holds:
            print(f"  exit {result.returncode}: {result.stderr}")


def run(command, check=True):
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if check and result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {result.returncode}: {result.stderr}")
    return result


def on_ranks(count, command):
    return [*MPIRUN, "-n", str(count), *command]


def log(folder):
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [(line["update"], line["loss"]) for line in lines]


def children(process):
    listed = run(["ps", "-o", "pid=", "--ppid", str(process)], check=False).stdout.split()
    return [int(pid) for pid in listed]


def kill_some(runs, kills, draw):
    """A run that is killed again and again, on another number of ranks each time."""
    started = time.monotonic()
    run(on_ranks(2, runs.train("timed")))
    seconds = time.monotonic() - started
    killed = 0
    while killed < kills:
        resume = ["--resume"] if (runs.folder / "killed").exists() else []
        ranks = draw.choice([2, 3])
        process = subprocess.Popen(
            on_ranks(ranks, runs.train("killed") + resume),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            error = process.communicate(timeout=draw.uniform(0.3, 1.0) * seconds)[1]
            if process.returncode != 0:
                runs.expect(False, f"a run on {ranks} ranks that nobody killed: {error}")
                return
            shutil.rmtree(runs.folder / "killed")  # done before its kill
        except subprocess.TimeoutExpired:
            if draw.random() < 0.5:
                ranks_now = children(process.pid)
                with contextlib.suppress(ProcessLookupError):  # it may be at its end
                    if ranks_now:
                        os.kill(draw.choice(ranks_now), signal.SIGKILL)  # mpirun ends the others
            else:
                process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
            killed += 1
    run(
        on_ranks(
            4, runs.train("killed") + (["--resume"] if (runs.folder / "killed").exists() else [])
        )
    )
    runs.expect(runs.same("killed"), f"a run killed {kills} times ends in the model of one process")
    left = {path.name for path in (runs.folder / "killed").iterdir() if "checkpoint" in path.name}
    # By the four, or by those that were killed after their last update.
    runs.expect(
        any(
            left
            == {"checkpoint.safetensors"}
            | {f"checkpoint-400-{rank + 1}of{ranks}.safetensors" for rank in range(ranks)}
            for ranks in (2, 3, 4)
        ),
        "no shards but the last ones are left",
    )


def stop_and_go_on(runs):
    """SIGTERM to one rank stops all of them at one update; one process goes on."""
    process = subprocess.Popen(
        on_ranks(3, runs.train("stopped")),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while (
        process.poll() is None and not (runs.folder / "stopped" / "checkpoint.safetensors").exists()
    ):
        time.sleep(0.01)
    os.kill(children(process.pid)[1], signal.SIGTERM)
    error = process.communicate(timeout=60)[1]
    said = [line for line in error.splitlines() if line.startswith("bridgemark: ")]
    stopped = re.fullmatch(
        r"bridgemark: stopped at update (\d+) of 400; go on with --resume",
        said[0] if len(said) == 1 else "",
    )
    names = {path.name for path in (runs.folder / "stopped").iterdir()}
    runs.expect(
        stopped and f"checkpoint-{stopped[1]}-3of3.safetensors" in names,
        "a stop of one rank stops all of them at one update",
    )
    run(runs.train("stopped") + ["--resume"])
    runs.expect(runs.same("stopped"), "stopped on three ranks, finished by one process")
    names = {path.name for path in (runs.folder / "stopped").iterdir()}
    runs.expect(
        "checkpoint.safetensors" in names and not any("of3" in name for name in names),
        "the shards of a run that one process finished are gone",
    )


def refusals(runs, without_mpi):
    train = runs.train("refused")
    runs.expect_refusal(
        "another solver",
        on_ranks(2, runs.train("refused", "dlightsb-m", ["updates=1"])),
        r"\[ranks\] solver must be dlightsb on 2 ranks, got dlightsb-m",
    )
    runs.expect_refusal(
        "more ranks than blocks of components",
        on_ranks(3, runs.train("refused", options=["components=200"])),
        r"ranks must be at most 2 for 200 components",
    )
    runs.expect_refusal(
        "an option that does not exist", on_ranks(2, [*train, "--set", "nothing=1"]), "nothing"
    )
    runs.expect_refusal(
        "a folder that holds a run", on_ranks(2, runs.train("one")), "already holds a run"
    )
    runs.expect_refusal(
        "another command",
        on_ranks(2, [runs.program, "evaluate", runs.pair, "--run", runs.folder / "one"]),
        "evaluate must run as one process, got 2",
    )
    runs.expect_refusal(
        "ranks with runs of their own",
        on_ranks(2, ["sh", "-c", '"$0" "$@" --seed $OMPI_COMM_WORLD_RANK', *train]),
        "given the same run",
    )
    runs.expect(not (runs.folder / "refused").exists(), "what was refused left no folder")
    if without_mpi:
        program, runs.program = runs.program, without_mpi
        runs.expect_refusal(
            "the program without MPI",
            on_ranks(4, runs.train("refused")),
            r"ranks must be 1 in this program, got 4",
        )
        runs.program = program


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--without-mpi", type=pathlib.Path, help="the program without MPI")
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if shutil.which("mpirun") is None:
        print("SKIPPED: there is no mpirun; scripts/install-packages.sh mpi installs one")
        return 0
    os.environ.update(
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
    )
    # In memory where that can be: a checkpoint after each update is what is tested, not the disk.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = pathlib.Path(name)
        runs = Runs(arguments.program.resolve(), folder)
        run(runs.train("one"))
        for ranks in (2, 3):
            run(on_ranks(ranks, runs.train(f"ranks-{ranks}")))
            runs.expect(runs.same(f"ranks-{ranks}"), f"{ranks} ranks: the model of one process")
        given = folder / "x0.npy"
        run([runs.program, "sample", runs.pair, "--what", "x0", "-n", "500", "-o", given])
        for run_name in ("one", "ranks-3"):
            run(
                [
                    runs.program,
                    "sample",
                    "--run",
                    folder / run_name,
                    "--given",
                    given,
                    "-o",
                    folder / f"{run_name}.npy",
                ]
            )
        runs.expect(
            (folder / "one.npy").read_bytes() == (folder / "ranks-3.npy").read_bytes(),
            "draws of the model of three ranks",
        )
        again = run(on_ranks(2, runs.train("ranks-3") + ["--resume"]))
        runs.expect("dlightsb" in again.stdout, "a complete run is left as it is")
        stop_and_go_on(runs)
        kill_some(runs, arguments.kills, random.Random(arguments.seed))
        refusals(runs, arguments.without_mpi and arguments.without_mpi.resolve())
    return 1 if runs.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
