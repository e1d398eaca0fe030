#!/usr/bin/env python3
"""Trains CP solvers and scores them: one line of JSON a run, with configuration, seed, time and
machine. Runs that are in the output already are skipped. Trainings take turns, so that their times
are their own; the scores of several runs are made side by side.

  scripts/cp_quality.py RUNS OUT.jsonl [--program build/bridgemark] [--device cuda] [--jobs 4]

RUNS is a text file, one run a line: SOLVER PAIR [key=value ...]; # starts a comment.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import tempfile
import threading

SHOWN = ("conditional_shape_score", "exact_conditional_shape_score", "joint_kl",
         "forward_trajectory_kl")
lock, training = threading.Lock(), threading.Lock()


def call(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def run(line, options):
    solver, pair, *sets = line.split()
    with tempfile.TemporaryDirectory() as folder:
        run_dir = f"{folder}/run"
        train = [options.program, "train", solver, "--pair", pair, "-o", run_dir, "--json",
                 "--device", options.device]
        for assignment in sets:
            train += ["--set", assignment]
        with training:
            trained = call(train)
        scores = call([options.program, "evaluate", pair, "--run", run_dir, "--seeds",
                       str(options.seeds), "--json"])
    scores.pop("values")
    record = {"run": line, "train": trained, "scores": scores}
    with lock:
        with open(options.out, "a") as out:
            out.write(json.dumps(record) + "\n")
        seconds = trained["diagnostics"]["training_seconds"]
        print(line, f"{seconds:.1f} s", *(f"{key} {scores[key]:.4f}" for key in SHOWN), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs")
    parser.add_argument("out")
    parser.add_argument("--program", default="build/bridgemark")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=3, help="repetitions of the scores")
    parser.add_argument("--jobs", type=int, default=1, help="runs scored side by side")
    options = parser.parse_args()
    out = pathlib.Path(options.out)
    done = {json.loads(line)["run"] for line in out.read_text().splitlines()} if out.exists() else set()
    lines = [" ".join(line.split("#")[0].split()) for line in pathlib.Path(options.runs).open()]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = {pool.submit(run, line, options): line for line in lines
                   if line and line not in done}
        for finished in concurrent.futures.as_completed(waiting):
            if finished.exception():
                print("failed:", waiting[finished], finished.exception(), flush=True)


if __name__ == "__main__":
    main()
