#!/usr/bin/env python3
"""round_results.py FILE.jsonl...: keeps seven digits of each number and five of means of blocks.

A score is sure to three or four digits, so this says no less. Files are rounded before they are
committed; what `bridgemark run` writes has all digits.
"""

import json
import pathlib
import sys

DIGITS, DIGITS_OF_BLOCKS = 7, 5
LARGE = 1e4  # from which on numbers keep three decimals


def rounded(value, digits=DIGITS):
    if isinstance(value, float):
        return round(value, 3) if abs(value) >= LARGE else float(f"{value:.{digits}g}")
    if isinstance(value, list):
        return [rounded(item, digits) for item in value]
    if isinstance(value, dict):
        return {
            key: rounded(item, DIGITS_OF_BLOCKS if key == "blocks" else digits)
            for key, item in value.items()
        }
    return value


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        before = path.read_text()
        compact = '": ' not in before.splitlines()[0]
        separators = (",", ":") if compact else (", ", ": ")
        after = "".join(
            json.dumps(rounded(json.loads(line)), separators=separators, ensure_ascii=False) + "\n"
            for line in before.splitlines()
        )
        path.write_text(after)
        print(f"{name}: {len(before)} -> {len(after)} bytes")


if __name__ == "__main__":
    main()
