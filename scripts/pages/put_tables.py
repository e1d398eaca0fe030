#!/usr/bin/env python3
"""put_tables.py PAGE [--check]: puts the tables of standard input in place of those of PAGE with
the same heads.

What is no table goes to standard output, for the sentences of the page. With --check nothing is
written, and a page that would change is an error.
"""

import pathlib
import sys


def blocks_of(lines):
    """Runs of lines that are a table and of lines that are none."""
    blocks = []
    for line in lines:
        if not blocks or blocks[-1][0].startswith("|") != line.startswith("|"):
            blocks.append([])
        blocks[-1].append(line)
    return blocks


def put(page, tables):
    """The page with each table in the first place left that has its head."""
    blocks = blocks_of(page)
    left = list(range(len(blocks)))
    for table in tables:
        place = next((place for place in left if blocks[place][0] == table[0]), None)
        if place is None:
            sys.exit(
                f"put_tables.py: the page has no place left for a table with the head {table[0]}"
            )
        blocks[place] = table
        left.remove(place)
    return [line for block in blocks for line in block]


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[1])
    printed = blocks_of(sys.stdin.read().splitlines())
    if not printed:
        sys.exit("put_tables.py: standard input has no tables")
    before = path.read_text().splitlines()
    after = put(before, [block for block in printed if block[0].startswith("|")])
    if "--check" in sys.argv:
        changed = [f"{path}: {line}" for line in after if line not in before]
        sys.exit("\n".join([*changed[:5], f"{path}: run make tables"]) if after != before else 0)
    path.write_text("\n".join(after) + "\n")
    for block in printed:
        for line in block:
            if line and not line.startswith("|"):
                print(line)


if __name__ == "__main__":
    main()
