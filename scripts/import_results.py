#!/usr/bin/env python3
"""Lines measured by scripts/baselines.sh and scripts/cp_quality.sh in the form of results.jsonl.

    scripts/import_results.py EXPERIMENT FILE.jsonl ... >> DIR/results.jsonl

What those scripts did not record (threads and options of the baselines) stays empty. Runs that are in
DIR/results.jsonl already can be left out with --without DIR/results.jsonl. Standard library only.
"""

import argparse
import json

TITLES = {"oracle": "Oracle", "independent": "Independent", "reference": "Reference",
          "feature-wise": "Feature-wise SB", "dlightsb": "DLightSB", "dlightsb-m": "DLightSB-M"}


def runs_of(path):
    """(training record, scores) of each line, whichever script wrote it."""
    with open(path) as file:
        for line in file:
            entry = json.loads(line)
            if "scores" in entry:  # cp_quality.sh
                yield entry["pair"], entry["solver"], entry["train"], entry["scores"]
            else:  # baselines.sh
                train = {"wall_seconds": entry["train_seconds"], "diagnostics": entry["diagnostics"]}
                yield entry["pair"], entry["solver"], train, entry | {
                    "wall_seconds": entry["evaluate_seconds"]}


def lines_of(experiment, pair, solver, train, scores):
    options = train.get("options", {})
    diagnostics = train["diagnostics"]
    common = {
        "experiment": experiment, "run": f"{pair}.{solver}.seed0", "method": TITLES[solver],
        "pair": pair, "dim": int(pair.split("-")[0][1:]), "solver": solver,
        "loss": options.get("loss", ""), "num_steps": options.get("num_steps", ""),
        "seed": train.get("seed", 0), "evaluation_seed": scores["seed"],
        "evaluation_seeds": scores["num_seeds"], "evaluation_num_steps": scores["num_steps"],
        "trajectories": scores.get("num_trajectories", 1000), "version": scores["version"],
        "device": scores["device"], "machine": scores["machine"],
        "threads": train.get("threads", 0),
        "train_seconds": diagnostics.get("training_seconds", train["wall_seconds"]),
        "evaluate_seconds": scores["wall_seconds"],
        "peak_memory_bytes": max(scores["peak_memory_bytes"], train.get("peak_memory_bytes", 0)),
        "set": [], "options": options,
        "pair_identity": train.get("pair", {"name": pair, "reverse": pair.endswith("-reverse")}),
        "diagnostics": diagnostics}
    for score, error in scores["standard_errors"].items():
        yield common | {"score": score, "value": scores[score], "standard_error": error,
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
        for pair, solver, train, scores in runs_of(path):
            if f"{pair}.{solver}.seed0" in known:
                continue
            for line in lines_of(arguments.experiment, pair, solver, train, scores):
                print(json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


if __name__ == "__main__":
    main()
