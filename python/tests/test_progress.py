"""Progress on standard error: one line that is rewritten where that can be, few lines elsewhere."""

import io
import sys
import time
import types

import numpy as np
import pytest

import bridgemark as bm
from bridgemark import _progress


class Stream(io.StringIO):
    terminal = False

    def isatty(self):
        return self.terminal


class Terminal(Stream):
    terminal = True


# What a kernel sets as sys.stderr: ipykernel.iostream.OutStream, which is no terminal.
Notebook = type("OutStream", (Stream,), {"__module__": "ipykernel.iostream"})


@pytest.fixture
def clock(monkeypatch):
    clock = types.SimpleNamespace(now=100.0)
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock.now)
    monkeypatch.setenv("COLUMNS", "40")
    return clock


def shown(monkeypatch, clock, stream, reports):
    """What the stream has after reports (seconds, what, done, total, detail)."""
    monkeypatch.setattr(sys, "stderr", stream)
    report = _progress.reporter(True)
    start = clock.now
    for seconds, *arguments in reports:
        clock.now = start + seconds
        report(*arguments)
    return stream.getvalue()


def training(seconds, step=0.01):
    """A report every hundredth of a second."""
    count = round(seconds / step)
    return [(i * step, "dlightsb", i, count, f"loss {1000 - i}") for i in range(1, count + 1)]


def screen(text):
    """What a line shows that carriage returns rewrite, as terminals and notebooks do."""
    line = ""
    for part in text.split("\r"):
        clear = part.startswith("\x1b[K")
        part = part.removeprefix("\x1b[K")
        line = part if clear else part + line[len(part) :]
    return line.rstrip()


@pytest.mark.parametrize("kind", [Stream, Terminal, Notebook])
def test_short_work_shows_nothing(monkeypatch, clock, kind):
    assert shown(monkeypatch, clock, kind(), training(1.9)) == ""


def test_a_terminal_has_one_line_that_goes(monkeypatch, clock):
    text = shown(monkeypatch, clock, Terminal(), training(10))
    assert "\n" not in text and 12 <= text.count("\r") <= 18  # twice a second after the first two
    assert "dlightsb: 200 of 1000, loss 800" in text
    assert screen(text) == ""


def test_lines_of_a_terminal_do_not_wrap(monkeypatch, clock):
    long = [(3, "dlightsb", 1, 2, "loss " + "9" * 100)]
    assert len(screen(shown(monkeypatch, clock, Terminal(), long))) == 39


def test_a_notebook_has_one_line_that_stays(monkeypatch, clock):
    text = shown(monkeypatch, clock, Notebook(), training(10))
    assert "\n" not in text and "\x1b" not in text and 12 <= text.count("\r") <= 18
    assert screen(text) == "dlightsb: 1000 of 1000, loss 0"
    # A shorter line covers a longer one, and the next work takes the same line.
    both = [(3, "a long name", 1, 200, "detail"), (4, "b", 1, 2, ""), (5, "b", 2, 2, "")]
    assert screen(shown(monkeypatch, clock, Notebook(), both[:2])) == "b: 1 of 2"
    assert screen(shown(monkeypatch, clock, Notebook(), both)) == "b: 2 of 2"


def test_files_have_few_whole_lines(monkeypatch, clock):
    text = shown(monkeypatch, clock, Stream(), training(45))
    assert "\r" not in text and "\x1b" not in text
    assert [line.split(" of ")[0] for line in text.splitlines()] == [
        "dlightsb: 200", "dlightsb: 1200", "dlightsb: 2200", "dlightsb: 3200", "dlightsb: 4200"
    ]  # fmt: skip
    assert text.endswith("\n")


class Steps:
    """A solver of one's own with slow steps that stay where they are."""

    num_steps = 1

    def sample(self, x0, seed):
        return x0

    def log_transition_marginals(self, x, num_steps, n):
        time.sleep(0.1)  # longer than the native code waits from one report to the next
        law = np.full((*x.shape, 50), np.log(0.5 / 49))
        np.put_along_axis(law, x[..., None].astype(int), np.log(0.5), -1)
        return law


@pytest.mark.parametrize(
    "kind, progress, is_told",
    [(Terminal, None, True), (Stream, None, False), (Terminal, False, False)],
)
def test_scores_of_ones_own_steps_say_how_far_they_are(monkeypatch, kind, progress, is_told):
    monkeypatch.setattr(sys, "stderr", kind())
    monkeypatch.setattr(_progress, "_FIRST_AFTER", 0.0)
    short = {"num_seeds": 1, "num_trajectories": 20, "conditional_samples": 20, "particles": 2}
    bm.evaluate("d2-gaussian-0.02", Steps(), progress=progress, **short)
    assert (" of " in sys.stderr.getvalue()) == is_told


def test_a_callable_is_scored_in_silence(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(_progress, "_FIRST_AFTER", 0.0)
    bm.evaluate("d2-gaussian-0.02", lambda x0: x0, num_seeds=1, conditional_samples=20)
    assert sys.stderr.getvalue() == ""
