"""Batches of a pair's two ends."""

import itertools
import threading

import numpy as np
import pytest

import bridgemark as bm


def test_batches_join_up_to_the_rows_of_the_seed(pair):
    x0, x1 = pair.sample_x0(60, seed=3), pair.sample_x1(60, seed=3)
    for rows in (20, 30):
        drawn = list(itertools.islice(pair.batches(rows, seed=3), 60 // rows))
        assert all(batch[0].dtype == np.int32 for batch in drawn)
        np.testing.assert_array_equal(np.concatenate([batch[0] for batch in drawn]), x0)
        np.testing.assert_array_equal(np.concatenate([batch[1] for batch in drawn]), x1)


def test_a_loop_is_taken_up_where_it_was(pair):
    batches = pair.batches(10, seed=3)
    next(batches)
    later = pair.batches(10, seed=3, first_row=batches.first_row)
    for left, right in zip(next(batches), next(later), strict=True):
        np.testing.assert_array_equal(left, right)


def test_threads_that_share_batches_get_each_row_once(pair):
    rows, threads, each = 50, 8, 40
    batches, taken = pair.batches(rows, seed=3), []
    start = threading.Barrier(threads)

    def take():
        start.wait()
        for _ in range(each):
            taken.append(next(batches))

    workers = [threading.Thread(target=take) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert batches.first_row == rows * threads * each
    ends = [np.concatenate(batch, axis=1).tobytes() for batch in taken]
    alone = itertools.islice(pair.batches(rows, seed=3), threads * each)
    assert sorted(ends) == sorted(np.concatenate(batch, axis=1).tobytes() for batch in alone)


def test_a_batch_that_fails_is_drawn_again(pair, monkeypatch):
    batches = pair.batches(10, seed=3)
    expected = next(pair.batches(10, seed=3))

    def fail():
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(batches, "_empty", fail)
        with pytest.raises(MemoryError):
            next(batches)
    assert batches.first_row == 0
    np.testing.assert_array_equal(next(batches)[0], expected[0])


def test_each_batch_is_an_array_of_its_own(pair):
    batches = pair.batches(10, seed=3)
    first = next(batches)[0]
    before = first.copy()
    next(batches)
    np.testing.assert_array_equal(first, before)


def test_ends_of_a_reversed_pair_change_places():
    forward, backward = bm.load("d2-gaussian-0.02"), bm.load("d2-gaussian-0.02-reverse")
    x0, x1 = next(forward.batches(50, seed=1))
    y0, y1 = next(backward.batches(50, seed=1))
    np.testing.assert_array_equal(x0, y1)
    np.testing.assert_array_equal(x1, y0)


def test_without_a_seed_batches_are_fresh(pair):
    left, right = next(pair.batches(100)), next(pair.batches(100))
    assert (left[0] != right[0]).any()


def test_samples_of_a_named_device_are_the_same_rows(pair):
    np.testing.assert_array_equal(pair.sample_x0(20, 3, device="cpu"), pair.sample_x0(20, 3))
    np.testing.assert_array_equal(pair.sample_x1(20, 3, device="cpu"), pair.sample_x1(20, 3))
    joint = pair.sample_joint(20, 3, device="cpu")
    for left, right in zip(joint, pair.sample_joint(20, 3), strict=True):
        np.testing.assert_array_equal(left, right)


def test_rows_that_no_memory_holds_are_refused(pair):
    message = r"^\[memory\] drawing 1000000000000 rows of \d+ states needs about [\d.]+ GiB, and"
    for draw in (pair.sample_x0, pair.sample_x1, pair.sample_joint):
        with pytest.raises(ValueError, match=message):
            draw(10**12)
        with pytest.raises(ValueError, match=message):
            draw(10**12, device="cpu")
    with pytest.raises(ValueError, match=message):
        pair.batches(10**12)


def test_bad_requests_are_named(pair):
    for call in (pair.sample_x0, pair.sample_x1, pair.sample_joint):
        with pytest.raises(ValueError, match="device must be 'cpu', 'cuda' or 'cuda:0', got 'tpu'"):
            call(1, device="tpu")
    with pytest.raises(ValueError, match="rows must be at least 1, got 0"):
        pair.batches(0)
    with pytest.raises(ValueError, match="first_row must lie in 0"):
        pair.batches(1, first_row=-1)
    with pytest.raises(ValueError, match="device must be 'cpu', 'cuda' or 'cuda:0', got 'tpu'"):
        pair.batches(1, device="tpu")


def test_a_gpu_that_is_not_there_is_named(pair):
    try:
        bm.Independent().fit(pair, device="cuda")
    except RuntimeError as error:
        with pytest.raises(RuntimeError) as refused:
            pair.batches(1, device="cuda")
        assert str(refused.value) == str(error)
    else:
        pytest.skip("there is a GPU")
