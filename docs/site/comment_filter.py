#!/usr/bin/env python3
"""A header as Doxygen reads it: `//` before a declaration or behind it becomes documentation."""

import re
import sys

VERBATIM, END_VERBATIM = r" \verbatim", r" \endverbatim"


def escape(text):
    return re.sub(r"([\\@<>&#%]|::)", r"\\\1", text)


def convert(lines):
    behind = -1  # the column of a comment behind code, which the next lines may continue
    for i, line in enumerate(lines):
        alone = re.match(r"(\s*)//( .*|)$", line)
        after = re.match(r"(.*[;,{)\]\w])(\s+)// (.*)$", line)
        if alone and len(alone[1]) == behind:
            yield f"{alone[1]}///<{escape(alone[2])}"
        elif alone:
            behind = -1
            last = next(
                (j for j in range(i, len(lines)) if not re.match(r"\s*//", lines[j])),
                len(lines) - 1,
            )
            mark = (
                "///" if lines[last].strip() else "//"
            )  # a comment by itself explains nothing below
            if mark == "///" and alone[2].startswith("   "):  # a list whose columns count
                first = not re.match(r"\s*//   ", lines[i - 1])
                last = not re.match(r"\s*//   ", lines[i + 1])
                yield f"{alone[1]}///{VERBATIM * first}{alone[2]}{END_VERBATIM * last}"
            else:
                yield f"{alone[1]}{mark}{escape(alone[2])}"
        elif after:
            behind = len(after[1]) + len(after[2])
            yield f"{after[1]}{after[2]}///< {escape(after[3])}"
        else:
            behind = -1
            yield line


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print("\n".join(convert(file.read().splitlines())))
