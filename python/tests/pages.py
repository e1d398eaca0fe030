"""The code of the documentation's pages, and one program of it."""

import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "-- end of a block --"


def page_text(page, heading=None):
    """The text of a page of docs/, or of one of its sections and what is below it."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    if heading is None:
        return text
    found = re.search(rf"^(#+) {re.escape(heading)}\n(.*)", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise ValueError(f"docs/{page}.md has no section '{heading}'")
    return re.split(rf"^#{{1,{len(found[1])}}} ", found[2], maxsplit=1, flags=re.MULTILINE)[0]


def program_of(blocks):
    """One program of blocks (kind, text) of Python and of the shell, which marks each end."""
    lines = ["import subprocess"]
    for kind, body in blocks:
        if kind == "sh":
            how = "shell=True, check=True, stdout=subprocess.DEVNULL"
            body = f"subprocess.run({'set -e;' + body!r}, {how})"
        lines += [body, f"print({MARK!r}, flush=True)"]
    return "\n".join(lines)


def environment(python):
    """That of a shell in which the commands beside this Python are found."""
    path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "MPLBACKEND": "agg"}
