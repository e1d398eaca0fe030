"""What the paper's tables say, for the tables that show ours beside it."""

import csv
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCORE = "conditional_shape_score"


def published():
    """(method, loss, steps, pair) -> the paper's conditional shape score."""
    cells = {}
    with open(ROOT / "bridgemark/report/data/published.csv") as file:
        for row in csv.DictReader(file):
            for column, value in row.items():
                if row["table"] == SCORE and column[1:2].isdigit():
                    pair = column.replace("_", "-") + "-spread"
                    cells[row["method"], row["loss"], row["steps"], pair] = float(value)
    return cells
