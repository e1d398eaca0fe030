"""Pairs of one's own: their parts, their folders, and what is refused."""

import warnings

import numpy as np
import pytest

import bridgemark as bm


@pytest.fixture(scope="module")
def states():
    return np.random.default_rng(1).integers(0, 7, (40, 3))


def reference_matrix(size):
    matrix = np.random.default_rng(2).random((size, size)) + 0.1
    return matrix / matrix.sum(1, keepdims=True)


def test_defaults_are_the_papers():
    pair, preset = bm.build_pair(seed=20260, name="mine"), bm.load("d2-gaussian-0.02")
    assert np.array_equal(pair.log_cores, preset.log_cores)
    assert np.array_equal(pair.sample_joint(100, seed=1)[1], preset.sample_joint(100, seed=1)[1])
    assert (pair.name, pair.dim, pair.num_categories, pair.num_components) == ("mine", 2, 50, 4)
    assert (pair.reference, pair.gamma, pair.total_steps) == ("gaussian", 0.02, 128)
    assert preset.log_beta.tolist() == pytest.approx([np.log(0.25)] * 4)


def test_every_number_reaches_the_pair():
    pair = bm.build_pair(
        dim=3,
        num_categories=9,
        num_components=2,
        reference="uniform",
        gamma=0.3,
        total_steps=12,
        sigma=0.7,
        radius=2.0,
        source="uniform",
        seed=8,
        reverse=True,
    )
    assert (pair.dim, pair.num_categories, pair.num_components) == (3, 9, 2)
    assert (pair.reference, pair.gamma, pair.total_steps) == ("uniform", 0.3, 12)
    assert pair.seed == 8 and pair.reverse
    assert pair.log_cores.shape == (3, 9, 2)
    step = np.exp(pair.log_reference(1))
    np.testing.assert_allclose(step, np.where(np.eye(9), 0.7, 0.3 / 8), rtol=1e-12)
    assert np.array_equal(np.exp(pair.log_reference(0)), np.eye(9))


def test_spread_is_a_family():
    preset = bm.load("d16-uniform-0.01-spread")
    pair = bm.build_pair(family="spread", dim=16, reference="uniform", gamma=0.01, seed=preset.seed)
    assert np.array_equal(pair.log_cores, preset.log_cores)
    assert (pair.family, bm.load("d16-uniform-0.01").family) == ("spread", "sphere")
    # In one dimension means 10 categories apart are rare, so another distance is another pair.
    near, far = (
        bm.build_pair(family="spread", dim=1, min_distance=distance, seed=1) for distance in (0, 10)
    )
    assert not np.array_equal(near.log_cores, far.log_cores)


def test_reference_that_hardly_moves_is_warned_of():
    with pytest.warns(
        UserWarning, match="gamma 0.02 at S = 17 hardly moves: .* gamma 0.071 fits"
    ) as caught:
        pair = bm.build_pair(num_categories=17)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="hardly moves") as caught:
        bm.Reference().fit(pair)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bm.Reference().fit(bm.build_pair(num_categories=17, gamma=1.5))


def test_states_are_p0(states):
    for given in (states, states.astype(np.uint8), states.tolist()):
        pair = bm.build_pair(source=given, num_categories=7)
        assert pair.dim == 3
        rows = {tuple(row) for row in pair.sample_x0(500, seed=1).tolist()}
        assert rows <= {tuple(row) for row in states.tolist()} and len(rows) > 30


def test_pmf_is_p0():
    pmf = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    pair = bm.build_pair(source=pmf)
    assert (pair.dim, pair.num_categories) == (2, 3)
    x0 = pair.sample_x0(4000, seed=1)
    assert x0[:, 0].max() == 1 and (x0[:, 1] == 2).all()
    assert abs(x0[:, 0].mean() - 0.5) < 0.05


def test_matrix_is_the_reference():
    matrix = reference_matrix(5)
    pair = bm.build_pair(reference=matrix, total_steps=4)
    assert pair.reference == "matrix" and pair.gamma is None and pair.num_categories == 5
    np.testing.assert_allclose(np.exp(pair.log_reference(1)), matrix, rtol=1e-12)
    power = np.linalg.matrix_power(matrix, 4)
    np.testing.assert_allclose(np.exp(pair.log_reference(4)), power, rtol=1e-12)


def test_factors_are_a_reference_of_low_rank(states, tmp_path):
    rng = np.random.default_rng(8)
    v = rng.uniform(0.1, 1.0, (7, 2))
    u = rng.uniform(0.1, 1.0, (7, 2))
    u /= (u @ v.sum(0))[:, None]
    pair = bm.build_pair(reference=(u, v), gamma=0.1, total_steps=4, dim=2)
    assert pair.reference == "lowrank" and pair.gamma == 0.1 and pair.num_categories == 7
    power = np.linalg.matrix_power(0.9 * np.eye(7) + 0.1 * u @ v.T, 4)
    np.testing.assert_allclose(np.exp(pair.log_reference(4)), power, rtol=1e-12)
    pair.save(tmp_path / "pair")
    for kept, given in zip(bm.load(tmp_path / "pair").reference_factors, (u, v), strict=True):
        assert np.array_equal(kept, given)
    # What a pair's reference says of itself makes it again, in either direction.
    back = bm.build_pair(reference=(u, v), gamma=0.1, total_steps=4, dim=2, reverse=True)
    for direction in (pair, back):
        own = bm.Reference().fit(states[:, :2], states[:, :2], reference=direction.reference)
        assert own.coupling.reference == "lowrank" and own.coupling.gamma == 0.1
    assert bm.build_pair().reference_factors is None
    with pytest.raises(ValueError, match="gamma must be given with a reference of low rank"):
        bm.Reference().fit(states, states, reference=(u, v))


def test_references_with_zeros():
    counts = bm.build_pair(reference="birth-death", gamma=0.3, num_categories=9, total_steps=4)
    step = np.diag(np.full(9, 0.7)) + np.diag(np.full(8, 0.15), 1) + np.diag(np.full(8, 0.15), -1)
    step[0, 0] = step[8, 8] = 0.85
    power = np.linalg.matrix_power(step, 4)
    np.testing.assert_allclose(np.exp(counts.log_reference(4)), power, rtol=1e-12)
    x0, x1 = counts.sample_joint(500, seed=1)
    assert np.abs(x1 - x0).max() <= 4

    masked = bm.build_pair(reference="absorbing", gamma=0.1, num_categories=9, total_steps=4)
    x0, x1 = masked.sample_joint(500, seed=1)
    assert ((x1 == x0) | (x1 == 8)).all() and (x1 == 8).any()
    back = bm.build_pair(
        reference="absorbing", gamma=0.1, num_categories=9, total_steps=4, reverse=True
    )
    drawn = back.sample_conditional(x1, seed=2)
    assert ((x1 == drawn) | (x1 == 8)).all()
    with pytest.raises(ValueError, match="must lead from each category to each other"):
        bm.DLightSB(updates=1).fit(back)


def test_weights_of_a_graph_are_a_reference(tmp_path):
    rows = np.arange(6)
    graph = np.tile([0.25, 0.75], 6), np.stack([(rows - 1) % 6, (rows + 1) % 6], 1).ravel()
    graph = *graph, 2 * np.arange(7)
    walk = np.zeros((6, 6))
    walk[rows, (rows - 1) % 6], walk[rows, (rows + 1) % 6] = 0.25, 0.75
    pair = bm.build_pair(reference=graph, gamma=0.5, total_steps=3, dim=2)
    assert pair.reference == "graph" and pair.num_categories == 6
    power = np.linalg.matrix_power(0.5 * np.eye(6) + 0.5 * walk, 3)
    np.testing.assert_allclose(np.exp(pair.log_reference(3)), power, rtol=1e-12)
    pair.save(tmp_path / "pair")
    for kept, given in zip(bm.load(tmp_path / "pair").reference_graph, graph, strict=True):
        assert np.array_equal(kept, given)

    class Sparse:  # as scipy has it
        data, indices, indptr = graph

        def tocsr(self):
            return self

    assert bm.build_pair(reference=Sparse(), gamma=0.5, total_steps=3, dim=2, name="custom") == pair
    # Backwards it goes the other way round.
    back = bm.build_pair(reference=graph, gamma=0.5, total_steps=3, dim=2, reverse=True)
    weights, columns, _ = back.reference_graph
    backwards = np.zeros((6, 6))
    backwards[np.repeat(rows, 2), columns] = weights
    np.testing.assert_allclose(backwards, walk.T, rtol=1e-12)
    ends = np.array([[0, 0], [3, 1]]), np.array([[3, 0], [4, 2]])
    own = bm.Reference().fit(*ends, reference=back.reference)
    assert own.coupling.reference == "graph" and own.coupling.gamma == 0.5
    near = bm.build_pair(reference=graph, gamma=0.5, total_steps=2, dim=2).reference
    with pytest.raises(ValueError, match="row 1 of x1 cannot be reached from any row of x0"):
        bm.Reference().fit(ends[0], np.array([[2, 0], [0, 3]]), reference=near)
    with pytest.raises(ValueError, match="indptr must hold whole numbers from 0 on, got 0.5"):
        bm.build_pair(reference=(graph[0], graph[1], graph[2] + 0.5), gamma=0.5)
    assert bm.build_pair().reference_graph is None


def test_potential_is_ones_own():
    rng = np.random.default_rng(3)
    log_beta, log_cores = np.log([0.2, 0.8]), rng.normal(size=(2, 4, 2))
    pair = bm.build_pair(log_beta=log_beta, log_cores=log_cores, total_steps=2, gamma=0.4)
    assert (pair.dim, pair.num_categories, pair.num_components) == (2, 4, 2)
    assert np.array_equal(pair.log_cores, log_cores) and np.array_equal(pair.log_beta, log_beta)
    # q(x1|x0) by its definition, summed over all x1.
    q_ref = np.exp(pair.log_reference(2))
    v = np.einsum("k,ak,bk->ab", np.exp(log_beta), *np.exp(log_cores))
    joint = v * q_ref[1][:, None] * q_ref[3][None, :]
    x1 = np.stack(np.meshgrid(np.arange(4), np.arange(4), indexing="ij"), -1).reshape(-1, 2)
    log_q = pair.log_conditional(np.broadcast_to([1, 3], x1.shape), x1)
    np.testing.assert_allclose(np.exp(log_q), (joint / joint.sum()).reshape(-1), rtol=1e-11)


@pytest.mark.parametrize("kind", ["preset", "states", "pmf", "matrix", "reverse"])
def test_saved_pairs_load(tmp_path, states, kind):
    pair = {
        "preset": lambda: bm.load("d2-uniform-0.005"),
        "states": lambda: bm.build_pair(source=states, num_categories=7, name="mine", seed=3),
        "pmf": lambda: bm.build_pair(source=np.full((2, 5), 0.2)),
        "matrix": lambda: bm.build_pair(reference=reference_matrix(5)),
        "reverse": lambda: bm.build_pair(dim=2, num_categories=6, reverse=True),
    }[kind]()
    pair.save(tmp_path / "pair")
    loaded = bm.load(tmp_path / "pair")
    for name in ("name", "dim", "num_categories", "seed", "version", "reverse", "reference"):
        assert getattr(loaded, name) == getattr(pair, name), name
    assert np.array_equal(loaded.log_cores, pair.log_cores)
    assert np.array_equal(loaded.sample_x0(100, seed=1), pair.sample_x0(100, seed=1))
    for mine, theirs in zip(pair.test_set(), loaded.test_set()):
        assert np.array_equal(mine, theirs)


def test_custom_pairs_equal_the_command_line(command_line, tmp_path, states):
    np.save(tmp_path / "states.npy", states)
    command_line(
        "build",
        "custom",
        "--source",
        tmp_path / "states.npy",
        "--categories",
        7,
        "--reference",
        "uniform",
        "--gamma",
        0.05,
        "--components",
        3,
        "--sigma",
        0.8,
        "--seed",
        4,
        "-o",
        tmp_path / "pair",
    )
    pair = bm.build_pair(
        source=states,
        num_categories=7,
        reference="uniform",
        gamma=0.05,
        num_components=3,
        sigma=0.8,
        seed=4,
    )
    loaded = bm.load(tmp_path / "pair")
    assert np.array_equal(loaded.log_cores, pair.log_cores)
    assert np.array_equal(loaded.sample_joint(50, seed=1)[1], pair.sample_joint(50, seed=1)[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 0}, "dim must lie in 1"),
        ({"num_categories": 1}, r"num_categories of a gaussian .* lie in 2..\d+, got 1"),
        ({"num_components": -1}, "num_components must lie in 1"),
        ({"gamma": -1.5}, "gamma of a gaussian reference must be positive and finite, got -1.5"),
        ({"gamma": float("nan")}, "must be positive and finite, got nan"),
        ({"gamma": 1, "reference": "uniform"}, r"uniform reference must lie in \(0, 1\), got 1"),
        ({"family": "cube"}, "family must be sphere, spread, chain, twosided or tree, got 'cube'"),
        ({"family": "spread", "num_categories": 10}, "at least 11 for family spread, got 10"),
        ({"family": "spread", "min_distance": -1}, "min_distance must be at least 0"),
        ({"min_distance": 4}, "goes with family spread or chain or twosided or tree, got 4"),
        (
            {"family": "chain", "radius": 2},
            "radius goes with family sphere, got 2 and family chain",
        ),
        ({"switch_rate": 0.2}, "switch_rate goes with family chain or tree, got 0.2"),
        (
            {"log_beta": [0.0], "log_cores": np.zeros((2, 3, 1)), "radius": 2},
            "radius goes with a family's potential, got 2 and a potential of your own",
        ),
        ({"sigma": 0}, "sigma must be positive"),
        ({"radius": -1}, "radius must be positive"),
        ({"total_steps": 0}, "total_steps must lie in 1"),
        ({"seed": -1}, "seed must lie in 0"),
        ({"reference": "poisson"}, "reference must be gaussian, uniform, birth-death.*'poisson'"),
        ({"reference": np.eye(4)}, "strictly positive"),
        ({"reference": np.full((3, 4), 0.25)}, "matrix must be square"),
        ({"reference": np.ones(4)}, r"reference must be an array \[S,S\] .* shape \(4,\)"),
        ({"reference": np.full((3, 3), "a")}, "reference must be an array"),
        ({"reference": np.full((3, 3), 1 / 3), "num_categories": 4}, r"num_categories .* \[3, 4\]"),
        ({"source": "poisson"}, "source must be gaussian, uniform, a pmf"),
        ({"source": [1, 2]}, r"source must be .* got shape \(2,\)"),
        ({"source": np.full((2, 3), 0.5)}, "each row of the pmf must sum to 1, got 1.5"),
        ({"source": [[0, 1]]}, "num_categories must be given with a source of states"),
        ({"source": [[0, 5]], "num_categories": 5}, "source must hold categories 0..4, got 5"),
        ({"source": [[0, 1]], "num_categories": 5, "dim": 3}, r"dim must be the same .* \[2, 3\]"),
        (
            {"source": np.zeros((0, 2), int), "num_categories": 5},
            "states must hold at least one row, got 0",
        ),
        ({"source": np.zeros((2, 2), bool), "num_categories": 5}, "integer dtype, got bool"),
        ({"log_beta": [0.0]}, "log_beta and log_cores must be given together"),
        (
            {"log_beta": [0.0], "log_cores": np.zeros((2, 3))},
            r"log_cores must be an array \[D,S,K\]",
        ),
        (
            {"log_beta": [0.0, 1.0], "log_cores": np.zeros((2, 3, 1))},
            "log_beta must have 1 entries, .* got 2",
        ),
        (
            {"log_beta": [np.nan], "log_cores": np.zeros((2, 3, 1))},
            "log_beta must be finite or -inf, got nan",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        bm.build_pair(**arguments)


def test_saving_where_nothing_can_be_is_an_os_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        bm.load("d2-gaussian-0.02").save(tmp_path / "file")


def test_numbers_that_would_do_nothing_are_refused():
    with pytest.raises(ValueError, match="gamma goes with any reference but a matrix, got 0.3"):
        bm.build_pair(reference=np.full((4, 4), 0.25), gamma=0.3)
    with pytest.raises(ValueError, match="min_distance must be one that 4 means in 50 categories"):
        bm.build_pair(family="spread", min_distance=60.0)
    assert bm.build_pair(reference="uniform").gamma == 0.02


def test_rows_of_different_lengths_are_named():
    with pytest.raises(ValueError, match="source must be an array whose rows are all of one"):
        bm.build_pair(source=[[1, 2], [3]], num_categories=7)
