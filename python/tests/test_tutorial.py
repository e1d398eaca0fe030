"""The pages of a walk through run as they stand, and print what they show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pages import BLOCK, MARK, environment, page_text, program_of

NUMBER = re.compile(r"\d+\.\d+")


def run(blocks, folder):
    """Runs blocks of Python and of the shell in one process; what each printed."""
    done = subprocess.run(
        [sys.executable, "-c", program_of(blocks)],
        cwd=folder,
        env=environment(sys.executable),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(MARK + "\n")


# Trainings of a page that would take long here, and what is trained in their place.
SHORTER = {
    "digits": [("updates=300", "updates=50")],
    "words": [("updates=300", "updates=20"), ("updates=1000", "updates=20")],
}
WORD_LISTS = [Path("/usr/share/dict/american-english"), Path("/usr/share/dict/spanish")]


def require_data(page):
    """Skips a page whose data is not installed."""
    if page == "table":
        pytest.importorskip("statsmodels", reason="statsmodels is not installed")
    elif page == "columns":
        pytest.importorskip("pandas", reason="pandas is not installed")
    elif page == "digits":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    elif page == "words" and not all(path.exists() for path in WORD_LISTS):
        pytest.skip("the word lists of Debian's wamerican and wspanish are not installed")


def blocks_of(page):
    text = page_text(page)
    for long, short in SHORTER.get(page, []):
        assert long in text
        text = text.replace(long, short)
    return [block for block in BLOCK.findall(text) if block[0] in ("python", "sh", "text")]


@pytest.mark.parametrize(
    "page", ["tutorial", "data-to-data", "table", "columns", "digits", "words"]
)
def test_page_prints_what_it_shows(page, tmp_path):
    require_data(page)
    blocks = blocks_of(page)
    printed = iter(run([block for block in blocks if block[0] != "text"], tmp_path))
    found = ""
    for kind, body in blocks:
        if kind != "text":
            found = next(printed)
            continue
        assert len(found.splitlines()) == len(body.splitlines()), found
        for shown, line in zip(body.splitlines(), found.splitlines()):
            if shown.startswith(("<", "[", "independent", "oracle")):  # the same on every machine
                assert shown == line
            elif page != "words":  # a training amplifies the last digits in which machines differ
                assert NUMBER.sub("#", shown).split() == NUMBER.sub("#", line).split()
