#!/usr/bin/env python3
"""contest.py: prints the table of docs/contest.md, the largest joint KL of each family."""

from families import DIRECTIONS, FAMILIES
from frontier import INSTANCE, SOLVERS, Frontier, nats, pairs_of
from result_tables import head, row


def of_family(frontier, family, direction):
    """Column -> its largest joint KL; what was not measured is left out."""
    presets, others = pairs_of(families=(family,)), pairs_of(INSTANCE, families=(family,))
    key = "forward" if direction == "forward" else "reverse_bound"
    columns = {
        name: [frontier.run(pair, solver)[key][0] for pair in presets]
        for solver, name in SOLVERS.items()
    }
    if direction == "reverse":
        columns["trained from p1"] = [frontier.trained_from_p1(pair)[0] for pair in presets]
    columns["nearest bridge"] = [frontier.best(pair, direction) for pair in presets]
    columns["nearest, instance 100"] = [frontier.best(pair, direction) for pair in others]
    columns["CSBM, at most"] = [frontier.network(pair, direction) for pair in presets]
    return {
        column: max(value for value in values if value is not None)
        for column, values in columns.items()
    }


def rows(frontier):
    """The head of the table and its rows."""
    found = {
        (family, direction): of_family(frontier, family, direction)
        for family in FAMILIES
        for direction in DIRECTIONS
    }
    columns = list(found["sphere", "reverse"])
    yield ["family", "direction", *columns]
    for place, values in found.items():
        yield [*place, *(nats(values.get(column)) for column in columns)]


def main():
    first, *others = rows(Frontier())
    head(*first)
    for words in others:
        row(*words)


if __name__ == "__main__":
    main()
