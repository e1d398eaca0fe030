"""The reference of the command line, from the program's own --help."""

import functools
import re
import subprocess
import sys
from pathlib import Path

from text import cell, escape, stacked, table

PROGRAM = Path(sys.executable).parent / "bridgemark"
COLUMN = 30  # where the help's second column begins


@functools.cache
def help_of(*command):
    done = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def rows_of(lines):
    """Names and texts of the help's two columns; a long name has its text on the next line."""
    rows = []
    for line, following in zip(lines, [*lines[1:], ""]):
        if following.startswith(" " * COLUMN):
            rows.append([line.strip(), following.strip()])
        elif not line.startswith(" " * COLUMN):
            rows.append([line[:COLUMN].strip(), line[COLUMN:].strip()])
    return rows


def option_row(name, text):
    """An option, its default and what it is: `--seeds INT:INT in [1 - 100]=1` has a range and a
    default.
    """
    if not text:
        raise ValueError(f"the option {name} has no text")
    needs = re.search(r" Needs: (\S+)", name)
    required = " REQUIRED" in name
    name = re.sub(r" Needs: \S+| REQUIRED", "", name)
    flag, _, kind = name.partition(" ")
    kind, _, default = kind.partition("=")
    if default.startswith("/"):  # where this machine has it
        default = ""
    limits = re.search(r":\w+ in \[(\S+) - (\S+)\]", kind)
    choices = re.search(r":\{(.*)\}", kind)
    kind = kind.split(":")[0]
    if limits:
        text += f"; {limits[1]} to {limits[2]}"
    if choices:
        text += f"; one of {choices[1].replace(',', ', ')}"
    if required:
        text += "; required"
    if needs:
        text += f"; with {needs[1]}"
    shown = (
        f"{flag.replace(',', ', ')} {kind if not required or flag.startswith('-') else ''}".strip()
    )
    return [f"`{shown}`", f"`{default}`" if default else "", cell(text)]


def options_table(lines, kind):
    rows = [option_row(name, text) for name, text in rows_of(lines)]
    if not any(default for _, default, _ in rows):
        return stacked("names", (kind, "meaning"), [[name, text] for name, _, text in rows])
    return stacked("defaults", (kind, "default", "meaning"), rows)


def solvers_section(lines):
    """Each solver with a table of its keys."""
    out = []
    keys = []

    def close():
        if keys:
            out.append(stacked("defaults", ("key", "default", "meaning"), keys))
            keys.clear()

    for line in lines:
        if line.startswith("    "):
            name, default, text = re.match(r"    (\w+)=(\S*)  (.*)", line).groups()
            keys.append([f"`{name}`", f"`{default}`" if default else "", cell(text)])
        else:
            close()
            name, text = line.strip().split(None, 1)
            said = re.sub(r"^[a-z]+\b", lambda word: word[0].capitalize(), text)
            out.append(f"### {name}\n\n{escape(said)}.\n")
    close()
    return "\n".join(out)


def examples(lines):
    """The commands and the sentences of a help's last part."""
    lines = [re.sub(r"^Examples?:\s*", "", line).strip() for line in lines]
    commands = [line for line in lines if line.startswith("bridgemark ")]
    said = [line for line in lines if line and not line.startswith("bridgemark ")]
    return (
        "```\n"
        + "\n".join(commands)
        + "\n```\n\n"
        + "".join(escape(line) + "\n\n" for line in said)
    )


def subcommand(name):
    description, usage, *rest = help_of(name).splitlines()
    out = [
        f"# bridgemark {name}\n",
        escape(description) + ".\n",
        f"```\n{usage.removeprefix('Usage: ')}\n```\n",
    ]
    part, lines, found_example = None, [], False

    def close():
        nonlocal lines
        shown = [line for line in lines if line.strip()]
        lines = []
        if part is None or not shown:
            return
        if part.startswith("Example"):
            out.append("## Examples\n\n" + examples(shown))
        elif part.startswith("Solvers"):
            out.append("## Solvers and their keys\n\n" + solvers_section(shown))
        else:
            title = "Arguments" if part == "Positionals" else part
            out.append(
                f"## {title}\n\n"
                + options_table(shown, "argument" if title == "Arguments" else "option")
            )

    for line in rest:
        head = re.match(r"(Positionals|Options.*|Own data.*|Solvers and their keys):$", line)
        if head:
            close()
            part = head[1].replace("'", "`")
        elif line.startswith("Example"):
            close()
            part, lines, found_example = "Examples", [line], True
        else:
            lines.append(line)
    close()
    if not found_example:
        raise ValueError(f"bridgemark {name} --help has no example")
    return "\n".join(out)


def subcommands():
    listed = help_of().split("Subcommands:\n")[1].split("\n\n")[0]
    return [line.split(None, 1) for line in listed.splitlines()]


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
