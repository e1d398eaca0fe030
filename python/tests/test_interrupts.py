"""Ctrl-C in native calls: each is left after about a second of work, and what it was called on goes
on. Work is counted in processor time of its own, so that neither a busy machine nor one that is
slow to hand out memory changes it."""

import os
import signal
import threading
from functools import partial

import numpy as np
import pytest

import bridgemark as bm

PROMPT = 1.5  # seconds of all cores
CORES = len(os.sched_getaffinity(0))


def seconds_to_interrupt(call, after=0.5):
    """What all cores together compute from a SIGINT, sent `after` seconds into the call, to its
    KeyboardInterrupt."""
    sent = []

    def send():
        sent.append(os.times().user)
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        return (os.times().user - sent[0]) / CORES
    finally:
        timer.cancel()
        timer.join()


@pytest.fixture(scope="module")
def wide():
    """A pair of its own, so that no other test has made its tables; 16 dimensions."""
    return bm.load("d16-gaussian-0.02")


@pytest.fixture(scope="module")
def many_components(wide):
    return bm.DLightSB(components=20_000, updates=1, batch_size=1).fit(wide).coupling


def test_draws(pair):
    expected = pair.sample_joint(100, seed=3)
    assert seconds_to_interrupt(lambda: pair.sample_x0(100_000_000)) < PROMPT
    assert seconds_to_interrupt(lambda: pair.sample_joint(20_000_000)) < PROMPT
    assert all(np.array_equal(*ends) for ends in zip(pair.sample_joint(100, seed=3), expected))


def test_log_probabilities(wide):
    x0, x1 = wide.sample_joint(2_000_000, seed=1)
    assert seconds_to_interrupt(lambda: wide.log_marginals(x0[:400_000])) < PROMPT
    assert seconds_to_interrupt(lambda: wide.log_p1(x1)) < PROMPT
    few = slice(0, 50)
    assert np.array_equal(
        wide.log_conditional(x0[few], x1[few]),
        bm.load("d16-gaussian-0.02").log_conditional(x0[few], x1[few]),
    )


@pytest.mark.parametrize("family", ["sphere", "spread"])
def test_a_pair_of_many_components(family):
    build = partial(bm.build_pair, num_components=20_000, family=family, seed=1)
    assert seconds_to_interrupt(build) < PROMPT


def test_powers_of_a_reference_with_many_categories():
    pair = bm.build_pair(dim=2, num_categories=3000, gamma=0.02)
    assert seconds_to_interrupt(lambda: pair.log_reference(101)) < PROMPT
    assert np.allclose(np.exp(pair.log_reference(1)).sum(axis=1), 1)


def test_the_start_of_a_fit_with_many_components(wide):
    solver = bm.DLightSB(components=200_000, updates=1)
    assert seconds_to_interrupt(lambda: solver.fit(wide)) < PROMPT
    assert solver.fit(wide, components=10, updates=2, batch_size=8).coupling.dim == 16


def test_first_pairs_of_a_fit(pair):
    solver = bm.CSBM(initial="minibatch-ot", initial_batch=8192, initial_pairs=16384)
    assert seconds_to_interrupt(lambda: solver.fit(pair)) < PROMPT


def test_an_update_that_takes_long_is_given_up(wide, tmp_path):
    solver = bm.DLightSB(components=8000, updates=3, batch_size=1 << 15)
    run = tmp_path / "run"
    assert seconds_to_interrupt(lambda: solver.fit(wide, folder=run), after=2) < PROMPT
    assert {path.name for path in run.iterdir()} == {"config.toml", "log.jsonl"}


def test_a_coupling_of_many_components(many_components, wide):
    x0 = wide.sample_x0(200_000, seed=1)
    assert seconds_to_interrupt(lambda: many_components.sample(x0)) < PROMPT
    assert seconds_to_interrupt(lambda: many_components.log_marginals(x0)) < PROMPT
    assert seconds_to_interrupt(lambda: many_components.log_conditional(x0, x0)) < PROMPT
    assert many_components.sample(x0[:5], seed=1).shape == (5, 16)


def test_evaluations_of_many_components(many_components, wide):
    assert seconds_to_interrupt(lambda: bm.evaluate(wide, many_components)) < PROMPT


def test_reversed_draws():
    pair = bm.load("d64-gaussian-0.02-reverse")
    x1 = pair.sample_x0(200_000, seed=1)
    assert seconds_to_interrupt(lambda: pair.sample_conditional(x1)) < PROMPT
