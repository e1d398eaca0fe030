"""The reference of the command line, from the program's own --help."""

import functools
import re
import subprocess
import sys
from pathlib import Path

from text import cell, escape, stacked, table

PROGRAM = Path(sys.executable).parent / "bridgemark"
COLUMN = 26  # where the help's second column begins


@functools.cache
def blocks_of(*command):
    """The help, parted at its empty lines, and each part in lines."""
    done = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True, check=True)
    return [block.splitlines() for block in done.stdout.strip().split("\n\n")]


def titled(block):
    """The title of a block of two columns, without its colon, and the lines of its rows."""
    rows = [line.startswith("  ") for line in block].index(True)
    return " ".join(block[:rows]).removesuffix(":"), block[rows:]


def rows_of(lines):
    """Names and texts of the help's two columns; a text goes on below itself."""
    rows = []
    for line in lines:
        if line.startswith(" " * COLUMN):
            rows[-1][1] = f"{rows[-1][1]} {line.strip()}".strip()
        elif line[COLUMN - 2 : COLUMN] == "  ":
            rows.append([line[:COLUMN].strip(), line[COLUMN:].strip()])
        else:
            rows.append([line.strip(), ""])
    return rows


def option_row(name, text):
    """An option with its value, its default and what it is: `--seeds INT=1` has a default."""
    if not text:
        raise ValueError(f"the option {name} has no text")
    shown, _, default = name.partition("=")
    if default.startswith("/"):  # where this machine has it
        default = ""
    return [f"`{shown.replace(',', ', ')}`", f"`{default}`" if default else "", cell(text)]


def options_table(lines, kind):
    rows = [option_row(name, text) for name, text in rows_of(lines)]
    if not any(default for _, default, _ in rows):
        return stacked("names", (kind, "meaning"), [[name, text] for name, _, text in rows])
    return stacked("defaults", (kind, "default", "meaning"), rows)


def solver_section(name, text):
    """A solver with a table of its keys, from the help of `train NAME`."""
    out = f"### {name}\n\n{escape(re.sub(r'^[a-z]+', lambda w: w[0].capitalize(), text))}.\n"
    block = next(each for each in blocks_of("train", name) if each[0].startswith("Keys of"))
    keys = []
    for key, said in rows_of(titled(block)[1]):
        if "=" in key:
            key, _, default = key.partition("=")
            keys.append([f"`{key}`", f"`{default}`" if default else "", cell(said)])
    return out + ("\n" + stacked("defaults", ("key", "default", "meaning"), keys) if keys else "")


def examples(lines):
    commands = "\n".join(line.removeprefix("  ") for line in lines)
    return f"## Examples\n\n```\n{commands}\n```\n"


def subcommand(name):
    """The page of a command, with a part for each command within it."""
    return "\n".join(command_text(command) for command in [[name], *within(name)])


def command_text(command):
    name = " ".join(command)
    level = "#" * len(command)
    head, *blocks = blocks_of(*command)
    said, _, usage = "\n".join(head).partition("\nUsage: ")
    out = [
        f"{level} bridgemark {name}\n",
        escape(said.replace("\n", " ")) + ".\n",
        f"```\n{usage}\n```\n",
    ]
    shown = []
    for block in blocks:
        if block[0].endswith(":") or any(line.startswith("  ") for line in block):
            title, lines = titled(block)
        else:
            shown.append(escape(" ".join(block)) + "\n")
            continue
        if title.startswith("Example"):
            shown.append(examples(lines))
        elif title == "Commands":
            continue
        elif title.startswith("Solvers"):
            shown.append("## Solvers and their keys\n")
            shown += [solver_section(solver, text) for solver, text in rows_of(lines)]
        else:
            kind = "argument" if title == "Arguments" else "option"
            shown.append(f"## {title}\n\n".replace("'", "`") + options_table(lines, kind))
    if not any(part.startswith("## Example") for part in shown):
        raise ValueError(f"bridgemark {name} --help has no example")
    return "\n".join(out + [part.replace("## ", f"{level}# ", 1) for part in shown])


def subcommands(*command):
    listed = [block for block in blocks_of(*command) if block[0] == "Commands:"]
    return rows_of(titled(listed[0])[1]) if listed else []


def within(name):
    return [[name, part] for part, _ in subcommands(name)]


def pages():
    made = {f"reference/command-line/{name}.md": subcommand(name) for name, _ in subcommands()}
    rows = [[f"[`{name}`](command-line/{name}.md)", cell(text)] for name, text in subcommands()]
    made["reference/command-line.md"] = (
        "# Command line\n\nMade from the program's `--help`.\n\n"
        "```\nbridgemark COMMAND [OPTIONS]\n```\n\n" + table(("command", "does"), rows) + "\n"
        "Results go to standard output, progress and errors to standard error. Exit status 0 is "
        "success, 1 a check that failed, 2 bad input. `bridgemark --version` prints the version."
        "\n\n"
        "```{toctree}\n:hidden:\n"
        + "\n".join(f"command-line/{name}" for name, _ in subcommands())
        + "\n```\n"
    )
    return made
