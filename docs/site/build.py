#!/usr/bin/env python3
"""Builds the documentation as a site.

    build.py OUT        pages are staged in OUT/source, the site is OUT/html

Pages lie in OUT/source as they do in the repository, so that a link means the same on a code host
and on the site. docs/README.md is the first page: its headings are the parts of the navigation, its
links the pages of each. Whatever a page links to comes along, and the reference is generated from
the program's help, the Python package and the public headers. A warning is an error.
"""

import argparse
import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

import command_line
import cpp_headers
import gallery
import python_package

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
KATEX = Path("/usr/share/javascript/katex")

# Pages whose links are the navigation below them.
INDEXES = ["docs/README.md", "results/README.md", "python/gallery/README.md"]
REFERENCE = """\
- [Command line](../reference/command-line.md): every command and option, from the program's help.
- [Python](../reference/python.md): every class and function, from the package's docstrings.
- [C++](../reference/cpp.md): the public headers.
"""
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"!\[[^\]]*\]")
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def targets(path, text):
    """The files that a page links to, as paths in the repository, in their order."""
    folder = posixpath.dirname(path)
    found = (m[1] for m in LINK.finditer(CODE.sub("", text)))
    return list(dict.fromkeys(posixpath.normpath(posixpath.join(folder, file)) for file in found))


def staged(path):
    """Where a file of the repository lies on the site."""
    if path == INDEXES[0]:
        return "index.md"
    return re.sub(r"^(python/gallery/\w+)\.py$", r"\1.md", path)


def relinked(path, text):
    """A page's text with its links as they are on the site.

    The words for an image are on one line: the parser drops the ends of lines there, and with them
    the space between two words.
    """

    def link(match):
        target = staged(posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1])))
        link = posixpath.relpath(target, posixpath.dirname(staged(path)) or ".")
        return f"]({link}{match[2] or ''})"

    parts = re.split(f"({CODE.pattern})", text, flags=CODE.flags)
    return "".join(
        part if i % 2 else SHOWN.sub(lambda m: " ".join(m[0].split()), LINK.sub(link, part))
        for i, part in enumerate(parts)
    )


def navigation(path, pages, caption=None):
    lines = [":hidden:", f":caption: {caption}" if caption else ":maxdepth: 1"]
    lines += [
        posixpath.relpath(staged(page), posixpath.dirname(staged(path)) or ".") for page in pages
    ]
    return "\n```{toctree}\n" + "\n".join(lines) + "\n```\n\n"


def with_navigation(path, text):
    """An index with its pages as navigation; the first page has one for each of its parts."""
    if path != INDEXES[0]:
        return text + navigation(
            path, [t for t in targets(path, text) if t.endswith((".md", ".py"))]
        )
    head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    for i, part in enumerate(parts):
        caption = part.splitlines()[0]
        if caption == "Reference":
            part = part.replace("\n- ", f"\n{REFERENCE}- ", 1)
        pages = [target for target in targets(path, part) if target.endswith(".md")]
        parts[i] = part + navigation(path, pages, caption)
    return "## ".join([head, *parts])


def stage(source):
    """All pages reached from the first, the files that they link to, and the reference."""
    pages, files, waiting = {}, set(), list(INDEXES)
    for path in waiting:  # grows while it is read
        if not (ROOT / path).is_file() or path in pages or path in files:
            continue  # Sphinx complains of a link to what is not there
        if path.startswith("python/gallery/") and path.endswith(".py"):
            pages[path] = gallery.page(ROOT / path)
        elif path.endswith(".md"):
            pages[path] = (ROOT / path).read_text()
            waiting += targets(path, pages[path])
        else:
            files.add(path)
    unlinked = {f"docs/{file.name}" for file in (ROOT / "docs").glob("*.md")} - set(pages)
    if unlinked:
        raise ValueError(f"no page links to {', '.join(sorted(unlinked))}; docs/README.md should")
    for path in INDEXES:
        pages[path] = with_navigation(path, pages[path])
    made = {staged(path): relinked(path, text) for path, text in pages.items()}
    for module in (command_line, python_package, cpp_headers):
        made |= module.pages()
    for path, text in made.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
    for path in files:
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, source / path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out.resolve()
    for folder in ("source", "html", "katex"):
        shutil.rmtree(out / folder, ignore_errors=True)
        (out / folder).mkdir(parents=True)
    stage(out / "source")
    shutil.copyfile(KATEX / "katex.min.css", out / "katex/katex.min.css")
    shutil.copytree(
        KATEX / "fonts", out / "katex/fonts", ignore=shutil.ignore_patterns("*.ttf", "*.woff")
    )
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-d",
        out / "doctrees",
        "-c",
        SITE,
        out / "source",
        out / "html",
    ]
    return subprocess.run(
        command, env={**os.environ, "BRIDGEMARK_DOCS_KATEX": str(out / "katex")}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
