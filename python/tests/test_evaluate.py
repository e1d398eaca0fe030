"""Evaluation of couplings and callables, and the fits that make couplings."""

import itertools
import signal
import threading
import time

import numpy as np
import pytest

import bridgemark as bm

# What says how a result came about rather than what it is.
CIRCUMSTANCES = {"machine", "wall_seconds", "peak_memory_bytes"}


def scores(result):
    return {key: value for key, value in result.items() if key not in CIRCUMSTANCES}


@pytest.fixture(scope="module")
def oracle(pair):
    return bm.Oracle().fit(pair).coupling


@pytest.fixture(scope="module")
def oracle_result(pair, oracle):
    return bm.evaluate(pair, oracle)


# --- fit


def test_oracle_draws_the_truth(pair, oracle):
    x0 = pair.sample_x0(100, seed=1)
    assert np.array_equal(oracle.sample(x0, seed=2), pair.sample_conditional(x0, seed=2))
    assert oracle.sample(x0).dtype == np.int32
    assert (oracle.solver, oracle.dim, oracle.num_categories) == ("oracle", 2, 50)
    assert oracle.diagnostics == {} and "oracle" in repr(oracle)


@pytest.mark.parametrize("name", ["oracle", "independent", "reference", "feature-wise"])
def test_couplings_take_and_refuse_states(pair, name):
    assert name in bm.solvers()
    coupling = bm.make_solver(name).fit(pair).coupling
    assert coupling.sample(np.zeros((0, 2), np.int64)).shape == (0, 2)
    assert coupling.sample([[1, 2]]).shape == (1, 2)
    for bad in ([[1, 50]], [[1, 2, 3]], [1, 2], [[0.5, 1.0]]):
        with pytest.raises(ValueError, match="x0 must"):
            coupling.sample(bad)


def test_options_reach_the_solver(pair):
    options = {"marginal_samples": 2000, "max_iterations": np.int64(2), "tolerance": 1e-12}
    fitted = bm.FeatureWise(**options).fit(pair).coupling
    assert fitted.diagnostics["iterations"] == 2
    assert fitted.diagnostics["converged"] is False


def test_trained_solver_depends_on_its_seed_alone(pair):
    options = {"updates": 20, "components": 8, "batch_size": 32, "learning_rate": 1e-2}
    x0 = pair.sample_x0(500, seed=1)
    first, same, other = (
        bm.DLightSB(**options).fit(pair, seed=seed).sample(x0, seed=2) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("solver", "options", "message"),
    [
        ("dlightbs", {}, "dlightsb"),
        ("oracle", {"updates": 3}, "takes no options, got 'updates'"),
        ("feature-wise", {"marginal_sample": 3}, "did you mean 'marginal_samples'"),
        ("feature-wise", {"marginal_samples": -3}, "marginal_samples must be a whole number"),
        (
            "feature-wise",
            {"marginal_samples": 2.5},
            "marginal_samples must be a whole number .* got '2.5'",
        ),
        (
            "feature-wise",
            {"marginal_samples": True},
            "marginal_samples must be a whole number .* got 'true'",
        ),
        (
            "feature-wise",
            {"marginal_samples": [3, 4]},
            "marginal_samples must be a whole number .* got '3,4'",
        ),
        ("feature-wise", {"seed": -1}, "seed must lie in"),
    ],
)
def test_bad_fits_are_refused(pair, solver, options, message):
    with pytest.raises(ValueError, match=message):
        bm.make_solver(solver).fit(pair, **options)


def test_options_of_odd_types_are_refused():
    for value in (None, {}, object(), [None]):
        with pytest.raises(TypeError, match="option marginal_samples must be a number"):
            bm.FeatureWise(marginal_samples=value)


def test_ctrl_c_stops_a_fit(pair):
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    started = time.process_time()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        bm.DLightSB(updates=100_000_000, components=8, batch_size=8).fit(pair)
    timer.join()
    assert time.process_time() - started < 20


# --- evaluate


def test_oracle_scores(oracle_result):
    assert oracle_result["pair"] == "d2-gaussian-0.02" and oracle_result["seed"] == 0
    assert oracle_result["version"] == bm.__version__ and oracle_result["device"] == "cpu"
    assert 0.98 < oracle_result["shape_score"] <= 1
    assert oracle_result["joint_kl"] == 0.0
    assert abs(oracle_result["forward_trajectory_kl"]) < 1e-9
    assert oracle_result["exact_conditional_shape_score"] == pytest.approx(1.0)
    assert oracle_result["values"]["shape_score"] == [oracle_result["shape_score"]]
    assert "c2st_auc" not in oracle_result


def test_several_seeds(pair, oracle, oracle_result):
    result = bm.evaluate(pair, oracle, num_seeds=2, num_steps=4, num_trajectories=10)
    values = result["values"]["shape_score"]
    assert len(values) == 2 and values[0] == oracle_result["shape_score"] != values[1]
    assert result["shape_score"] == pytest.approx(np.mean(values))
    assert result["standard_errors"]["shape_score"] > 0


def test_callable_sees_the_protocol_in_this_thread(pair):
    calls = []

    def solver(x0):
        assert threading.get_ident() == caller
        assert x0.dtype == np.int32 and x0.flags.c_contiguous and x0.flags.writeable
        calls.append(x0)
        return pair.sample_conditional(x0, seed=len(calls))

    caller = threading.get_ident()
    result = bm.evaluate(pair, solver)
    # The arrays belong to the callable: what it kept is still there.
    assert np.array_equal(calls[0], pair.test_set()[0])
    inputs = pair.conditional_inputs()
    assert len(calls) == 1 + len(inputs)
    for x0, given in zip(inputs, calls[1:]):
        assert given.shape == (1000, 2) and (given == x0).all()
    assert 0.98 < result["shape_score"] <= 1 and 0.9 < result["conditional_shape_score"] <= 1
    assert result["joint_kl"] is None and result["forward_trajectory_kl"] is None


def test_answers_of_any_kind_score_alike(pair):
    kinds = [
        lambda x: x,
        lambda x: x.astype(np.uint8),
        lambda x: np.asfortranarray(x.astype(">i8")),
        lambda x: x.tolist(),
    ]
    results = [scores(bm.evaluate(pair, kind)) for kind in kinds]
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize(
    ("solver", "error", "message"),
    [
        (lambda x: x[:-1], ValueError, "as many rows as it is given, 20000, got 19999"),
        (lambda x: x[:, :1], ValueError, "callable returned must have 2 columns"),
        (lambda x: x + 50, ValueError, "callable returned must hold categories 0..49"),
        (lambda x: x / 2, ValueError, "callable returned must have an integer dtype, got float64"),
        (
            lambda x: None,
            TypeError,
            "callable returned must be an array of integers .* got NoneType",
        ),
        (lambda x: 1 // 0, ZeroDivisionError, "division"),
        (lambda: None, TypeError, "positional argument"),
        (None, TypeError, "must be a solver or coupling of bridgemark"),
        (np.zeros((20000, 2), int), TypeError, "must be a solver or coupling of bridgemark"),
    ],
)
def test_bad_solvers_are_refused(pair, solver, error, message):
    with pytest.raises(error, match=message):
        bm.evaluate(pair, solver)


def test_ctrl_c_in_a_callable_and_beside_it(pair, oracle):
    def interrupted(x0):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bm.evaluate(pair, interrupted)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        bm.evaluate(pair, oracle, num_seeds=100_000)
    timer.join()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_seeds": 0}, "num_seeds must lie in"),
        ({"num_steps": 3}, "num_steps must be a positive divisor of 128, got 3"),
        ({"num_steps": -1}, "num_steps must lie in"),
        ({"num_trajectories": 0}, "num_trajectories must lie in"),
        ({"conditional_samples": 0}, "conditional_samples must lie in"),
        ({"seed": -1}, "seed must lie in"),
    ],
)
def test_bad_requests_are_refused(pair, oracle, options, message):
    with pytest.raises(ValueError, match=message):
        bm.evaluate(pair, oracle, **options)


def truth_as_arrays(pair, seed, conditional_samples=1000):
    x0, inputs = pair.test_set()[0], pair.conditional_inputs()
    repeated = np.repeat(inputs, conditional_samples, axis=0)
    drawn = pair.sample_conditional(repeated, seed=seed + 1)
    return (
        pair.sample_conditional(x0, seed=seed),
        drawn.reshape(len(inputs), conditional_samples, pair.dim),
    )


def test_truth_scores_alike_however_it_is_given(pair, oracle):
    repetitions = 6
    draws = itertools.count(1000)
    given = {
        "oracle": bm.evaluate(pair, oracle, num_seeds=repetitions)["values"],
        "callable": bm.evaluate(
            pair,
            lambda x0: pair.sample_conditional(x0, seed=next(draws)),
            seed=100,
            num_seeds=repetitions,
        )["values"],
    }
    files = [
        bm.evaluate(pair, truth_as_arrays(pair, 10_000_000 + 2 * i), seed=200 + i)
        for i in range(repetitions)
    ]
    given["files"] = {name: [f[name] for f in files] for name in files[0].scores}
    common = [name for name, values in given["files"].items() if values[0] is not None]
    assert "sampled_conditional_shape_score" in common and len(common) == 9
    for name in common:
        means = {way: np.mean(values[name]) for way, values in given.items()}
        errors = {
            way: np.std(values[name], ddof=1) / repetitions**0.5 for way, values in given.items()
        }
        for way in ("callable", "files"):
            apart = abs(means[way] - means["oracle"]) / np.hypot(errors[way], errors["oracle"])
            assert apart < 5.5, (name, way)  # for 10 degrees of freedom about 3 in 10,000


def test_exact_score_takes_closed_forms_on_both_sides(pair, oracle_result):
    result = bm.evaluate(pair, truth_as_arrays(pair, 3))
    assert oracle_result["exact_conditional_shape_score"] == pytest.approx(1.0)
    assert result["exact_conditional_shape_score"] is None
    assert result["missing"]["exact_conditional_shape_score"].startswith("the answers have no")
    assert set(result["missing"]) == {name for name, mean in result.scores.items() if mean is None}
    assert 0.9 < result["sampled_conditional_shape_score"] < 1


def test_arrays_have_no_error_where_nothing_was_drawn_anew(pair):
    errors = bm.evaluate(pair, truth_as_arrays(pair, 5), num_seeds=2)["standard_errors"]
    for name in ("shape_score", "trend_score", "sampled_conditional_shape_score"):
        assert errors[name] is None
    assert errors["conditional_shape_score"] > 0  # of the truth's draws


def test_more_conditional_samples_raise_the_ceiling(pair, oracle, oracle_result):
    many = bm.evaluate(pair, oracle, conditional_samples=5000, num_trajectories=10)
    assert many["conditional_samples"] == 5000
    for name in ("conditional_shape_score", "sampled_conditional_shape_score"):
        assert many[name] > oracle_result[name] + 0.01
    answers = truth_as_arrays(pair, 7, conditional_samples=50)
    assert bm.evaluate(pair, answers, conditional_samples=50)["conditional_samples"] == 50
    with pytest.raises(ValueError, match=r"shape \[inputs, 1000, 2\], got \(157, 50, 2\)"):
        bm.evaluate(pair, answers)


def test_trajectories_are_on_the_grid_of_the_training(pair):
    solver = bm.DLightSBM(updates=2, components=3, batch_size=4, num_steps=64)
    coupling = solver.fit(pair).coupling
    result = bm.evaluate(pair, coupling, num_trajectories=10)
    assert result["num_steps"] == 64 and result["forward_trajectory_kl"] is not None
    assert bm.evaluate(pair, coupling, num_trajectories=10, num_steps=8)["num_steps"] == 8
    assert coupling.sample_trajectory(pair.sample_x0(3, seed=1)).shape == (3, 65, 2)


def test_coupling_of_another_space_is_refused(oracle):
    with pytest.raises(ValueError, match="must live on"):
        bm.evaluate(bm.load("d16-gaussian-0.02"), oracle)


def test_reversed_pair_has_the_classifier():
    pair = bm.load("d2-uniform-0.01-reverse")
    result = bm.evaluate(pair, bm.Independent().fit(pair))
    assert 0.5 < result["c2st_auc"] <= 1


# --- the command line


def test_predictions_equal_the_command_line(command_line, tmp_path, pair):
    def solver(x0):  # one answer for each state, so that calls and files agree
        return (x0 * 3 + 1) % 50

    folder = tmp_path / "answers"
    folder.mkdir()
    np.save(folder / "pred_x1.npy", solver(pair.test_set()[0]))
    repeated = np.repeat(pair.conditional_inputs()[:, None], 1000, axis=1)
    np.save(folder / "pred_conditional_x1.npy", solver(repeated))
    printed = command_line.json("evaluate", pair.name, "--predictions", folder, "--seed", 4)
    result = bm.evaluate(pair, solver, seed=4)
    reasons = printed.pop("missing"), scores(result)["missing"]
    assert reasons[0].keys() == reasons[1].keys()  # files and a callable lack different things
    for name, value in result.scores.items():
        # Conditional answers that are kept meet draws of the truth that depend on them.
        drawn = value is not None and name.startswith("conditional_")
        assert printed[name] == (pytest.approx(value, abs=0.01) if drawn else value), name


@pytest.mark.parametrize("solver", ["reference", "dlightsb"])
def test_runs_equal_the_command_line(command_line, tmp_path, solver):
    pair = bm.load("d2-gaussian-0.02")  # fresh, as a new process has it
    options = {"dlightsb": {"updates": 30, "components": 6, "batch_size": 16}}.get(solver, {})
    sets = [text for key, value in options.items() for text in ("--set", f"{key}={value}")]
    command_line("train", solver, "--pair", pair.name, "-o", tmp_path / "run", "--seed", 3, *sets)
    printed = command_line.json("evaluate", pair.name, "--run", tmp_path / "run", "--seed", 5)
    result = bm.evaluate(pair, bm.make_solver(solver, **options).fit(pair, seed=3), seed=5)
    assert scores(printed) == scores(result)
