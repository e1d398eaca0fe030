"""scripts/wrap_markdown.py fills paragraphs and leaves everything else of a page alone."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "wrap_markdown.py"
SPEC = importlib.util.spec_from_file_location("wrap_markdown", SCRIPT)
wrap_markdown = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(wrap_markdown)

LONG = "word " * 50
KEPT = [
    f"# {LONG}",
    f"| {LONG} | x |\n| --- | --- |\n| {LONG} | y |",
    f"```sh\n{LONG}\nshort\n```",
    f"````text\n```\n{LONG}\n```\n{LONG}\n````",
    f"```math\n{LONG}\n```",
    f"<!-- {LONG}\n{LONG} -->",
    f"[target]: https://example.org {LONG}",
    f"    {LONG}",
    f"![{LONG}](picture.svg)",
    "x" * 150,
    f"`{LONG}`",
    "one  \nafter a line break that is meant",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_paragraph_stays(text):
    page = f"before\n\n{text}\n\nafter\n"
    page = "\n".join(line.rstrip() if line.endswith("word ") else line for line in page.split("\n"))
    assert wrap_markdown.wrapped(page) == page


@pytest.mark.parametrize(
    ("mark", "indent"), [("", ""), ("- ", "  "), ("10. ", "    "), ("  - ", "    "), ("> ", "> ")]
)
def test_paragraphs_are_filled(mark, indent):
    words = (LONG * 2).split()
    made = wrap_markdown.wrapped(mark + " ".join(words) + "\n")
    first, *rest = made.splitlines()
    assert first.startswith(mark) and all(line.startswith(indent) for line in rest)
    assert all(95 < len(line) <= 100 for line in [first, *rest[:-1]])
    assert " ".join([first[len(mark) :], *(line[len(indent) :] for line in rest)]).split() == words
    assert wrap_markdown.wrapped(made) == made


def test_short_lines_are_joined_and_items_stay_apart():
    page = "one\ntwo\n\n- three\n  four\n- five\n\n  six\n  seven\n\nlast\nwords\n"
    assert wrap_markdown.wrapped(page) == (
        "one two\n\n- three four\n- five\n\n  six seven\n\nlast words\n"
    )


@pytest.mark.parametrize("word", ["-", "+", "1.", "2)", "#", ">", "|x|", ":"])
def test_no_line_begins_with_a_word_that_means_something_there(word):
    for before in range(80, 100):
        page = f"{'x' * before} y {word} {'z' * 20}\n"
        made = wrap_markdown.wrapped(page)
        assert not any(line.startswith(word) for line in made.splitlines())
        assert wrap_markdown.wrapped(made) == made


def test_code_formulas_and_equations_do_not_break():
    for inline in ("`--option VALUE`", "$a + b = c$", "``a ` b``", "D = 64"):
        for before in range(80, 100):
            assert inline in wrap_markdown.wrapped(f"{'x' * before} ({inline}), {LONG}\n")
