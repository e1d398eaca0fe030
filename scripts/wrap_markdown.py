#!/usr/bin/env python3
"""Fills the paragraphs of Markdown pages to lines of at most 100 columns.

wrap_markdown.py [--check] [PAGE...]: without pages, all that git tracks. With --check nothing is
written, and a page that would change is an error.

Code, tables, headings, HTML, pictures, formulas in fences, a head in YAML and pages that say
"do not edit" stay.
A line breaks at spaces outside of `code`, $formulas$ and "D = 64", so a longer word makes a longer
line.
"""

import re
import subprocess
import sys
from pathlib import Path

WIDTH = 100
FENCE = re.compile(r"\s*(`{3,}|~{3,})")
ITEM = re.compile(r"(\s*)([-*+]|\d+[.)])( +)(?=\S)")
QUOTE = re.compile(r"\s*> ?")
# Headings, rows of tables, rules, HTML, targets of links and pictures: each line is for itself.
ALONE = re.compile(r"\s*(#{1,6} |\||<(?!https?:)|\[[^\]]+\]: |([-*_=] *){3,}$|!\[.*\]\(\S+\)$)")
# What does not break: code, formulas, and words with either in them.
WORD = re.compile(r"(?:(`+)(?!`).+?(?<!`)\1(?!`)|\$[^$`]+\$|\S)+")
# A line that began with one of these words would be a list, a heading, a quote or a table.
MARKER = re.compile(r"([-*+:]|\d+[.)]|#{1,6}|[-=_*]{3,})$|[>|]")
GENERATED = "do not edit"
HEAD = re.compile(r"(---\n(.*\n)*?---\n)?")  # what a page says of itself for programs


def fill(text, first, rest):
    """The words of a paragraph in lines, the first of which begins otherwise than the rest."""
    words = []
    for match in WORD.finditer(text):
        if words and (MARKER.match(match[0]) or match[0] == "=" or words[-1].endswith(" =")):
            words[-1] += " " + match[0]
        else:
            words.append(match[0])
    lines, line = [], first + words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) <= WIDTH:
            line += " " + word
        else:
            lines.append(line)
            line = rest + word
    return [*lines, line]


def wrapped(text):
    """A page with its paragraphs filled."""
    out, paragraph = [], []
    first = rest = ""

    def close():
        if paragraph:
            out.extend(fill(" ".join(paragraph), first, rest))
            paragraph.clear()

    fence = None  # the mark that ends the code we are in
    comment = False
    for line in text.splitlines():
        mark = FENCE.match(line)
        if comment or fence:
            out.append(line)
            comment = comment and "-->" not in line
            if mark and fence and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = None
            continue
        indented = line.startswith("    ") and not paragraph and not rest
        if mark or not line.strip() or indented or ALONE.match(line):
            close()
            out.append(line)
            fence = mark[1] if mark else None
            comment = line.lstrip().startswith("<!--") and "-->" not in line
            if line.strip() and not line.startswith(" "):
                first = rest = ""  # no list goes on behind a line at the margin
            continue
        item, quote = ITEM.match(line), QUOTE.match(line)
        if item:
            close()
            first, rest = item[0], " " * len(item[0])
        elif quote and not paragraph:
            first = rest = quote[0]
        elif not paragraph:
            first = rest = re.match(r"\s*", line)[0]
        mark_of = item or quote
        paragraph.append(line[mark_of.end() if mark_of else 0 :].strip())
        if line.endswith(("  ", "\\")):  # a line break that is meant
            close()
            out[-1] += line[len(line.rstrip()) :]
            first = rest
    close()
    return "\n".join(out) + "\n"


def tracked():
    listed = ["git", "ls-files", "*.md", ":!submissions"]
    return subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()


def main():
    check = "--check" in sys.argv
    pages = [word for word in sys.argv[1:] if word != "--check"]
    changed = []
    for page in map(Path, pages or tracked()):
        before = page.read_text()
        if GENERATED in before[:200]:
            continue
        head = HEAD.match(before)[0]
        after = head + wrapped(before.removeprefix(head))
        if after != before:
            changed.append(str(page))
            if not check:
                page.write_text(after)
    if check and changed:
        sys.exit("\n".join([*changed, "wrap these pages with scripts/wrap_markdown.py"]))


if __name__ == "__main__":
    main()
