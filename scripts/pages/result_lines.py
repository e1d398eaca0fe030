"""Reads files of results: a line for each run, or for each run and score."""

import json

# Of the joint KL alone.
JOINT, DETAIL, BOUND = "joint_kl", "joint_kl_", "joint_kl_bound"


def score_lines(path):
    """A dict for each run and score, in the order of the file: all fields of the run, and score,
    value, standard_error and values; where there are any also blocks, missing, and of a joint KL
    bound, half_particles_change and detail. A value is None where it cannot be given, "inf" where
    it is infinite."""
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if "scores" in line:
            scores = line.pop("scores")
            for name in scores["values"]:
                yield line | score_fields(scores, name)
        else:
            yield line


def score_fields(scores, name):
    """What the scores of a run say of one of them."""
    infinite = name in scores["infinite"]
    finite = lambda value: "inf" if infinite and value is None else value
    fields = {
        "score": name,
        "value": finite(scores[name]),
        "standard_error": scores["standard_errors"][name],
        "values": [finite(value) for value in scores["values"][name]],
    }
    for key in ("blocks", "missing"):
        if name in scores.get(key, {}):
            fields[key] = scores[key][name]
    if name == JOINT and scores.get(BOUND):
        fields["detail"] = {key: value for key, value in scores.items() if key.startswith(DETAIL)}
        if scores[BOUND] == "upper":
            fields |= {
                "bound": "upper",
                "half_particles_change": scores["joint_kl_half_particles_change"],
            }
    return fields
