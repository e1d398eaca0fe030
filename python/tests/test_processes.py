"""The package in threads and in processes that are forked, spawned or served."""

import concurrent.futures
import multiprocessing
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import bridgemark as bm

NAME = "d2-uniform-0.01-spread"
ROWS = 20000  # enough for several threads


def drawn(seed):
    pair = bm.load(NAME)
    x0, x1 = pair.sample_joint(ROWS, seed=seed)
    return int(x0.sum()), int(x1.sum()), float(pair.log_conditional(x0, x1).sum())


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_process_started_after_threaded_calls_works(method):
    expected = [drawn(seed) for seed in range(4)]
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        answers = pool.map_async(drawn, range(4))
        assert answers.get(timeout=60) == expected


def test_a_forked_process_trains():
    drawn(0)

    def train(queue):
        pair = bm.load(NAME)
        solver = bm.DLightSB(components=20).fit(pair, updates=20)
        queue.put(solver.sample(np.zeros((10, 2), np.int32), seed=1).tolist())

    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=train, args=(queue,))
    child.start()
    answer = queue.get(timeout=60)
    child.join(60)
    solver = bm.DLightSB(components=20).fit(bm.load(NAME), updates=20)
    assert answer == solver.sample(np.zeros((10, 2), np.int32), seed=1).tolist()


def test_threads_share_a_pair():
    pair = bm.load(NAME)
    x0, x1 = pair.sample_joint(ROWS, seed=3)
    expected = pair.log_conditional(x0, x1)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for answer in threads.map(lambda _: pair.log_conditional(x0, x1), range(32)):
            np.testing.assert_array_equal(answer, expected)


def test_writes_of_other_threads_do_no_harm():
    # In a process of its own: what goes wrong here ends the interpreter.
    script = textwrap.dedent(f"""
        import threading
        import numpy as np
        import bridgemark as bm

        pair = bm.load({NAME!r})
        x0, x1 = (np.ascontiguousarray(x, np.int32) for x in pair.sample_joint({ROWS}, seed=1))
        good = x0.copy()
        done = threading.Event()

        def scribble():
            while not done.is_set():
                x0[:] = 2**31 - 1
                x0[:] = good

        writers = [threading.Thread(target=scribble) for _ in range(7)]
        for writer in writers:
            writer.start()
        refused = 0
        for seed in range(60):
            for call in (lambda: pair.log_conditional(x0, x1),
                         lambda: pair.sample_conditional(x0, seed=seed)):
                try:
                    call()
                except ValueError:
                    refused += 1
        done.set()
        for writer in writers:
            writer.join()
        print("refused", refused)
    """)
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr[-500:]
    assert run.stdout.startswith("refused")
