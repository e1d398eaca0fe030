"""Plain text of help, docstrings and comments as Markdown."""

import re
import textwrap


def escape(text):
    """Text that Markdown shows as it is; what stands between backticks stays code."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        p if p.startswith("`") else re.sub(r"([\\*_\[\]<>|$~])", r"\\\1", p) for p in parts
    )


def cell(text):
    """The same for a cell of a table, where | ends a cell even in code."""
    return re.sub(r"`[^`]+`", lambda code: code[0].replace("|", r"\|"), escape(text))


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def stacked(kind, head, rows):
    """A table whose cells lie below each other on a phone; its style is that of `kind`."""
    return f"````{{container}} stacked {kind}\n\n{table(head, rows)}\n````\n"


def prose(text):
    """A docstring's paragraphs, lists and indented code."""
    blocks = []
    text = re.sub(
        r"(?<=[.:])\n(?=`)", "\n\n", text
    )  # a line that begins with an argument says what it is
    for paragraph in re.split(r"\n\s*\n", textwrap.dedent(text).strip("\n")):
        lines = paragraph.splitlines()
        if all(line.startswith("    ") for line in lines):
            blocks.append("```python\n" + textwrap.dedent(paragraph) + "\n```")
            continue
        items = []  # each item of a list, and the text before it, on one line
        for line in lines:
            if re.match(r"\s*- ", line) or not items:
                items.append(line.strip())
            else:
                items[-1] += " " + line.strip()
        if items[0].startswith("- "):
            blocks.append("\n".join("- " + escape(item[2:]) for item in items))
        else:
            blocks.append(escape(items[0]))
            if items[1:]:
                blocks.append("\n".join("- " + escape(item[2:]) for item in items[1:]))
    return "\n\n".join(blocks) + "\n"
