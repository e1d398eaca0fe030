"""Pairs: what they are, what they draw, their exact probabilities, and what they refuse."""

import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import bridgemark as bm

INTEGER_DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
SAMPLERS = ["sample_x0", "sample_x1"]

# Every method that takes states, called with them.
STATE_METHODS = {
    "sample_conditional": lambda pair, x: pair.sample_conditional(x, seed=3),
    "sample_trajectory": lambda pair, x: pair.sample_trajectory(x, num_steps=4, seed=3),
    "log_p0": lambda pair, x: pair.log_p0(x),
    "log_p1": lambda pair, x: pair.log_p1(x, seed=3),
    "estimate_marginals": lambda pair, x: pair.estimate_marginals(x, seed=3)[0],
    "log_conditional": lambda pair, x: pair.log_conditional(x, x),
    "log_marginals": lambda pair, x: pair.log_marginals(x),
    "log_transition_marginals": lambda pair, x: pair.log_transition_marginals(x, 4, 1),
}


@pytest.fixture(params=STATE_METHODS.values(), ids=STATE_METHODS.keys())
def method(request):
    return request.param


def same(left, right):
    return left.dtype == right.dtype and np.array_equal(left, right)


# --- loading


def test_presets_load_with_their_properties():
    names = bm.presets()
    assert len(names) >= 48 and "d16-uniform-0.005" in names
    assert all(name.startswith("data-") for name in names[48:])
    for name in names[:48]:
        pair = bm.load(name)
        assert pair.name == name
        assert pair.dim == int(name[1 : name.index("-")])
        assert pair.num_categories == 50
        suffix = name.rpartition("-")[2]
        assert pair.family == (suffix if suffix in ("spread", "chain", "twosided") else "sphere")
        assert pair.version == 1 and pair.seed >= 0 and not pair.reverse
        assert name in repr(pair)


def test_texts_do_nothing_to_a_terminal():
    pair = bm.build_pair(seed=1, name="a\x1b]0;b\u202ec")
    assert "'a\\x1b]0;b\\xe2\\x80\\xaec'" in repr(pair)
    solver = bm.Independent().fit(pair)
    result = bm.evaluate(pair, solver, num_trajectories=1, label="d\x9be")
    for text in (repr(solver), repr(solver.coupling), str(result), repr(result)):
        assert all(c.isprintable() or c == "\n" for c in text), text


def test_reverse_swaps_the_ends(pair):
    reverse = bm.load(pair.name + "-reverse")
    assert reverse.reverse and reverse.dim == pair.dim
    assert same(reverse.sample_x0(50, seed=4), pair.sample_x1(50, seed=4))
    assert same(reverse.sample_x1(50, seed=4), pair.sample_x0(50, seed=4))


def test_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="nearest preset is d2-gaussian-0.02"):
        bm.load("d2-gausian-0.02")


def test_bad_folder_is_an_os_error(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(OSError, match="config.json"):
        bm.load(tmp_path)


@pytest.mark.parametrize("name", [None, 3, b"\xff\x00", "x" * 5000, "\udcff"])
def test_odd_names_raise(name):
    with pytest.raises((TypeError, ValueError, OSError)):
        bm.load(name)


def test_folder_written_by_the_command_line_loads(command_line, tmp_path, pair):
    command_line("build", pair.name, "-o", tmp_path / "pair")
    for folder in (tmp_path / "pair", str(tmp_path / "pair")):
        loaded = bm.load(folder)
        assert loaded.name == pair.name and loaded.dim == pair.dim
        assert same(loaded.test_set()[1], pair.test_set()[1])


def cells(pair):
    return re.findall(r"<t[hd]>(.*?)</t[hd]>", pair._repr_html_())


def test_a_notebook_shows_a_table(pair):
    assert cells(pair) == [
        "pair", "family", "D", "S", "reference", "gamma", "K", "steps",
        "d2-gaussian-0.02", "sphere", "2", "50", "gaussian", "0.02", "4", "128",
    ]  # fmt: skip
    matrix = [[0.8, 0.2], [0.3, 0.7]]
    own = bm.build_pair(dim=3, reference=matrix, name="<script>alert(1)</script> & co")
    assert cells(own)[8] == "&lt;script&gt;alert(1)&lt;/script&gt; &amp; co"
    assert cells(own)[12:14] == ["matrix", "-"] and "<script" not in own._repr_html_()


# --- draws


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_draws_are_int32_states_of_a_seed(pair, sampler):
    draw = getattr(pair, sampler)
    x = draw(1000, seed=1)
    assert x.shape == (1000, 2) and x.dtype == np.int32 and x.flags.c_contiguous
    assert x.min() >= 0 and x.max() < pair.num_categories
    assert same(x, draw(1000, 1)) and same(x[:10], draw(10, seed=1))
    assert not same(x, draw(1000, seed=2))


def test_joint_draws(pair):
    x0, x1 = pair.sample_joint(500, seed=5)
    assert x0.shape == x1.shape == (500, 2)
    assert same(x0, pair.sample_x0(500, seed=5))
    assert same(x1, pair.sample_conditional(x0, seed=5))


def test_trajectories_start_at_x0(pair):
    x0 = pair.sample_x0(100, seed=1)
    path = pair.sample_trajectory(x0, num_steps=8, seed=1)
    assert path.shape == (100, 9, 2) and path.dtype == np.int32
    assert same(path[:, 0], x0)
    assert pair.sample_trajectory(x0).shape == (100, 17, 2)


def test_results_outlive_their_pair():
    x0, x1 = bm.load("d16-uniform-0.01").sample_joint(1000, seed=3)
    again = bm.load("d16-uniform-0.01").sample_joint(1000, seed=3)
    assert same(x0, again[0]) and same(x1, again[1])
    x0[:] = 0  # owned by NumPy, so writable


def test_test_set_and_conditional_inputs(pair):
    x0, x1 = pair.test_set()
    assert x0.shape == x1.shape == (20000, 2)
    assert same(pair.conditional_inputs(), np.ascontiguousarray(x0[::128]))
    assert len(pair.conditional_inputs()) == 157


# --- exact probabilities


def test_marginals_sum_to_one(pair):
    x = pair.sample_x0(20, seed=1)
    for log_p in (pair.log_marginals(x), pair.log_transition_marginals(x, 16, 15)):
        assert log_p.shape == (20, 2, 50) and log_p.dtype == np.float64
        np.testing.assert_allclose(np.exp(log_p).sum(-1), 1.0, rtol=1e-12)


def test_conditional_sums_to_one_and_to_its_marginals(pair):
    states = np.stack(np.meshgrid(np.arange(50), np.arange(50), indexing="ij"), -1).reshape(-1, 2)
    x0 = pair.sample_x0(1, seed=1)
    log_p = pair.log_conditional(np.broadcast_to(x0, states.shape), states)
    assert log_p.shape == (2500,) and log_p.dtype == np.float64
    p = np.exp(log_p).reshape(50, 50)
    np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-12)
    marginals = np.exp(pair.log_marginals(x0))[0]
    np.testing.assert_allclose(p.sum(1), marginals[0], rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(p.sum(0), marginals[1], rtol=1e-10, atol=1e-300)


def test_one_step_transition_is_the_conditional(pair):
    x = pair.sample_x0(30, seed=1)
    assert same(pair.log_transition_marginals(x, 1, 0), pair.log_marginals(x))


# --- inputs of every kind


@pytest.mark.parametrize("dtype", [*INTEGER_DTYPES, ">i4", ">i8", "<u2"])
def test_every_integer_dtype(pair, method, dtype):
    x = pair.sample_x0(40, seed=2)
    assert same(method(pair, x.astype(dtype)), method(pair, x))


def test_every_layout(pair, method):
    x = pair.sample_x0(40, seed=2)
    expected = method(pair, x)
    read_only = x.copy()
    read_only.flags.writeable = False
    wide = np.zeros((80, 6), np.int32)
    wide[::2, 1::3] = x
    backwards = x[::-1, ::-1].copy()[::-1, ::-1]
    packed = np.zeros(40, dtype=[("skip", "i1"), ("x", "i4", 2)])
    packed["x"] = x
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.int32, offset=1).reshape(x.shape)
    layouts = {
        "fortran": np.asfortranarray(x),
        "strided": wide[::2, 1::3],
        "negative strides": backwards,
        "read-only": read_only,
        "unaligned field": packed["x"],
        "unaligned": unaligned,
        "list": x.tolist(),
        "subclass": x.view(np.matrix),
    }
    for name, layout in layouts.items():
        assert same(method(pair, layout), expected), name


def test_broadcast_rows(pair, method):
    x = np.broadcast_to(np.array([3, 4], np.int32), (7, 2))
    assert same(method(pair, x), method(pair, x.copy()))


@pytest.mark.parametrize("dtype", ["i4", "i8", "u1"])
def test_empty_batch(pair, method, dtype):
    result = method(pair, np.empty((0, 2), dtype))
    assert len(result) == 0
    assert result.shape[1:] == method(pair, np.zeros((1, 2), dtype)).shape[1:]


@pytest.mark.parametrize("draw", [*SAMPLERS, "sample_joint"])
def test_no_draws(pair, draw):
    drawn = getattr(pair, draw)(0)
    for x in drawn if isinstance(drawn, tuple) else (drawn,):
        assert x.shape == (0, 2) and x.dtype == np.int32


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((3, 2)), "integer dtype, got float64"),
        (np.zeros((3, 2), bool), "integer dtype, got bool"),
        (np.zeros((3, 2), complex), "integer dtype, got complex128"),
        (np.zeros((3, 2), object), "integer dtype, got object"),
        (np.zeros((3, 2), "m8[s]"), "integer dtype, got timedelta64"),
        ("abc", "integer dtype"),
        (3, r"shape \[rows, 2\], got \(\)"),
        ([1, 2], r"shape \[rows, 2\], got \(2,\)"),
        (np.zeros((1, 2, 2), int), r"shape \[rows, 2\]"),
        (np.zeros((3, 5), np.int32), r"2 columns, got shape \[3, 5\]"),
        (np.zeros((0, 5), np.int64), r"2 columns, got shape \[0, 5\]"),
        (np.zeros((5, 0), np.int32), r"2 columns, got shape \[5, 0\]"),
        ([[1, 2], [3, 50]], r"categories 0..49, got 50 at row 1, column 1"),
        (np.array([[1, 50]], np.int32), "got 50 at row 0, column 1"),
        (np.array([[-1, 2]], np.int8), "got -1 at row 0, column 0"),
        (np.array([[1, 2**32 + 1]]), "got 4294967297"),
        (np.array([[1, 2**64 - 1]], np.uint64), "got 18446744073709551615"),
    ],
)
def test_bad_states_are_refused(pair, method, x, message):
    with pytest.raises(ValueError, match=message):
        method(pair, x)


def test_no_states_are_refused(pair, method):
    with pytest.raises(
        TypeError, match=r"x0? must be an array of integers \[rows, D\], got NoneType"
    ):
        method(pair, None)


def test_rows_of_both_ends_must_agree(pair):
    for name in (pair.name, pair.name + "-reverse"):
        with pytest.raises(ValueError, match="got 3 and 2"):
            bm.load(name).log_conditional(np.zeros((3, 2), int), np.zeros((2, 2), int))


@pytest.mark.parametrize("number", [-1, 2**64, -(2**70)])
def test_numbers_out_of_range_are_refused(pair, number):
    with pytest.raises(ValueError, match=f"seed must lie in .* got {number}"):
        pair.sample_x0(1, seed=number)
    with pytest.raises(ValueError, match=f"n must lie in .* got {number}"):
        pair.sample_x1(number)
    with pytest.raises(ValueError, match=f"num_steps must lie in .* got {number}"):
        pair.sample_trajectory([[1, 2]], num_steps=number)


@pytest.mark.parametrize("number", [1.5, "3", None, [1]])
def test_numbers_of_other_types_are_refused(pair, number):
    kind = type(number).__name__
    with pytest.raises(TypeError, match=f"n must be an int, got {kind}$"):
        pair.sample_x0(number)
    with pytest.raises(TypeError, match=f"num_steps must be an int, got {kind}$"):
        pair.log_transition_marginals([[1, 2]], number, 0)


def test_numpy_integers_and_the_largest_seed(pair):
    assert same(pair.sample_x0(np.uint8(4), seed=np.int64(3)), pair.sample_x0(4, seed=3))
    assert pair.sample_x0(4, seed=2**64 - 1).shape == (4, 2)


def test_steps_must_divide_the_chain(pair):
    for steps in (3, 2**31 - 1):
        with pytest.raises(ValueError, match="num_steps"):
            pair.sample_trajectory([[1, 2]], num_steps=steps)
        with pytest.raises(ValueError, match="num_steps"):
            pair.log_transition_marginals([[1, 2]], steps, 0)
    for n in (-1, 4):
        with pytest.raises(ValueError, match=f"n must lie in 0..3, got {n}"):
            pair.log_transition_marginals([[1, 2]], 4, n)


def test_reversed_pairs_say_what_they_cannot_give():
    reverse = bm.load("d16-uniform-0.01-reverse")
    x = reverse.sample_x0(2, seed=1)
    with pytest.raises(ValueError, match="gives no conditional marginals"):
        reverse.log_marginals(x)
    with pytest.raises(ValueError, match="no transitions with num_steps = 4"):
        reverse.log_transition_marginals(x, 4, 0)


def test_pairs_are_not_made_by_hand():
    with pytest.raises(TypeError, match="a Pair is made by load"):
        bm.Pair()
    with pytest.raises(TypeError, match="a Coupling is made by Solver.fit"):
        bm.Coupling(3, name="x")


# --- threads


def test_other_threads_run_during_a_long_call():
    pair = bm.load("d64-gaussian-0.02")
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        started = time.perf_counter()
        pair.sample_x1(200_000)
        ended = time.perf_counter()
    finally:
        stop.set()
        thread.join()
    # Holding the GIL for the whole call would leave a tick at each of its ends at the most.
    assert sum(started < t < ended for t in ticks) > 5


def test_one_pair_serves_many_threads(pair):
    expected = pair.sample_joint(2000, seed=7)
    results = [None] * 8

    def draw(i):
        results[i] = pair.sample_joint(2000, seed=7)

    threads = [threading.Thread(target=draw, args=(i,)) for i in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x0, x1 in results:
        assert same(x0, expected[0]) and same(x1, expected[1])


# --- the command line


@pytest.mark.parametrize("what", ["x0", "x1", "joint"])
@pytest.mark.parametrize("name", ["d2-gaussian-0.02", "d16-uniform-0.005-reverse"])
def test_draws_equal_the_command_line(command_line, tmp_path, name, what):
    out = tmp_path / "out.npy"
    command_line("sample", name, "--what", what, "-n", 300, "--seed", 9, "-o", out)
    drawn = getattr(bm.load(name), f"sample_{what}")(300, seed=9)
    if what == "joint":
        drawn = np.stack(drawn, axis=1)
    assert same(np.load(out), drawn)


def test_draws_from_given_rows_equal_the_command_line(command_line, tmp_path, pair):
    x0 = pair.sample_x0(60, seed=1)
    np.save(tmp_path / "x0.npy", x0)
    out = tmp_path / "out.npy"
    given = ("--given", tmp_path / "x0.npy", "--seed", 9, "-o", out)
    command_line("sample", pair.name, "--what", "trajectory", "--num-steps", 8, *given)
    assert same(np.load(out), pair.sample_trajectory(x0, num_steps=8, seed=9))
    # Draw j of given row i has the index i * n + j, as has that row of the repeated input.
    command_line("sample", pair.name, "--what", "conditional", "-n", 5, *given)
    drawn = pair.sample_conditional(np.repeat(x0, 5, axis=0), seed=9)
    assert same(np.load(out), drawn.reshape(60, 5, 2))


def test_kit_equals_the_command_line(command_line, tmp_path, pair):
    command_line("kit", pair.name, "-o", tmp_path / "kit")
    x0, x1 = pair.test_set()
    kit = Path(tmp_path / "kit")
    assert same(np.load(kit / "test_x0.npy"), x0)
    assert same(np.load(kit / "test_x1.npy"), x1)
    assert same(np.load(kit / "conditional_x0.npy"), pair.conditional_inputs())


def test_presets_equal_the_command_line(command_line):
    listed = command_line.json("list")["pairs"]
    assert [entry["name"] for entry in listed] == bm.presets()
    for entry in listed:
        pair = bm.load(entry["name"])
        assert (pair.seed, pair.version, pair.dim) == (
            entry["seed"],
            entry["version"],
            entry["dim"],
        )
