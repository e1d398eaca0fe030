#!/usr/bin/env python3
"""Lines of scripts/baselines.sh, cp_quality.py and csbm_quality.sh in the form of results.jsonl.

    scripts/import_results.py EXPERIMENT FILE.jsonl ... >> DIR/results.jsonl

What those scripts did not record (threads and options of the baselines) stays empty. Runs that are in
DIR/results.jsonl already can be left out with --without DIR/results.jsonl. Standard library only.
"""

import argparse
import json

TITLES = {"oracle": "Oracle", "independent": "Independent", "reference": "Reference",
          "feature-wise": "Feature-wise SB", "dlightsb": "DLightSB", "dlightsb-m": "DLightSB-M",
          "csbm": "CSBM", "alpha-csbm": "α-CSBM"}
COLUMNS = ("loss", "num_steps")  # tables have columns for these
CSBM_UPDATES = 280_000  # of the paper; fewer are said in the method's name
TRAJECTORY_KLS = ("forward_trajectory_kl", "reverse_trajectory_kl")


def records_of(path):
    """(pair, solver, assignments, training, scores) of each line, whichever script wrote it."""
    with open(path) as file:
        for line in file:
            entry = json.loads(line)
            if "num_steps" in entry and "scores" in entry:  # csbm_quality.sh
                yield entry["pair"], entry["solver"], [], entry["train"], entry["scores"]
            elif "scores" in entry:  # cp_quality.py: "SOLVER PAIR key=value ..."
                solver, pair, *assignments = entry["run"].split()
                yield pair, solver, assignments, entry["train"], entry["scores"]
            else:  # baselines.sh
                train = {"wall_seconds": entry["train_seconds"], "diagnostics": entry["diagnostics"]}
                scores = entry | {"wall_seconds": entry["evaluate_seconds"]}
                yield entry["pair"], entry["solver"], [], train, scores


def run_lines(experiment, pair, solver, assignments, train, scores):
    options = train.get("options", {})
    diagnostics = train["diagnostics"]
    seed = train.get("seed", 0)
    columns = [options.get(key, "") for key in COLUMNS]
    # What else was set tells the method apart, as in a grid.
    others = [item.split("=", 1) for item in assignments if item.split("=")[0] not in COLUMNS]
    method = TITLES[solver] + "".join(f", {key} {value}" for key, value in others)
    name = solver + "".join(f"--{key}-{value}" for key, value in others)
    if "csbm" in solver and diagnostics["updates"] < CSBM_UPDATES:
        method, name = f"{method}, short training", f"{name}--short-training"
    common = {
        "experiment": experiment,
        "run": ".".join([pair, name, *filter(None, columns), f"seed{seed}"]), "method": method,
        "pair": pair, "dim": int(pair.split("-")[0][1:]), "solver": solver,
        "loss": columns[0], "num_steps": columns[1], "seed": seed,
        "evaluation_seed": scores["seed"], "evaluation_seeds": scores["num_seeds"],
        "evaluation_num_steps": scores["num_steps"],
        "trajectories": scores.get("num_trajectories", 1000), "version": scores["version"],
        "device": train.get("device", scores["device"]),
        "machine": train.get("machine", scores["machine"]), "threads": train.get("threads", 0),
        "train_seconds": diagnostics.get("training_seconds", train["wall_seconds"]),
        "evaluate_seconds": scores["wall_seconds"],
        "peak_memory_bytes": max(scores["peak_memory_bytes"], train.get("peak_memory_bytes", 0)),
        "set": assignments, "options": options,
        "pair_identity": train.get("pair", {"name": pair, "reverse": pair.endswith("-reverse")}),
        "diagnostics": diagnostics}
    own_grid = columns[1] in ("", str(scores["num_steps"]))
    for score, error in scores["standard_errors"].items():
        if score in TRAJECTORY_KLS and not own_grid:
            continue  # on another grid than the solver's: not what the tables show
        value = "inf" if score in scores.get("infinite", []) else scores[score]
        yield common | {"score": score, "value": value, "standard_error": error,
                        "values": scores.get("values", {}).get(score, [])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--without")
    arguments = parser.parse_args()
    known = set()
    if arguments.without:
        with open(arguments.without) as file:
            known = {json.loads(line)["run"] for line in file}
    for path in arguments.files:
        for record in records_of(path):
            for line in run_lines(arguments.experiment, *record):
                if line["run"] not in known:
                    print(json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


if __name__ == "__main__":
    main()
