"""Solver classes: options, fits, what they draw, folders, resuming."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from pausing import pausing

import bridgemark as bm

SMALL = {"updates": 40, "components": 6, "batch_size": 16}
SMALL_NETWORK = {
    "num_steps": 4,
    "hidden": [16],
    "batch_size": 8,
    "imf_iterations": 2,
    "updates_first": 4,
    "updates_later": 2,
    "initial_pairs": 100,
}

# Options with which each solver fits in no time.
QUICK = {
    "oracle": {},
    "independent": {},
    "reference": {},
    "feature-wise": {},
    "sinkhorn": {"rows": 100},
    "dlightsb": SMALL,
    "dlightsb-m": {**SMALL, "num_steps": 16},
    "dlightsb-chain": {**{key: SMALL[key] for key in SMALL if key != "components"}, "states": 8},
    "dlightsb-tree": {**{key: SMALL[key] for key in SMALL if key != "components"}, "states": 8},
    "csbm": SMALL_NETWORK,
    "alpha-csbm": SMALL_NETWORK,
}


def small(name):
    return bm.make_solver(name, **QUICK[name])


# --- classes


def test_every_solver_has_a_class_with_its_options_explained():
    for name in bm.solvers():
        solver = type(bm.make_solver(name))
        assert solver.name == name and issubclass(solver, bm.Solver)
        assert getattr(bm, solver.__name__, None) is solver
        assert len(solver.__doc__) > 10
    assert "components=auto" in bm.DLightSB.__doc__
    assert "num_steps" in bm.DLightSBM.__doc__


def test_bad_options_are_refused_at_once():
    with pytest.raises(ValueError, match="did you mean 'components'"):
        bm.DLightSB(component=3)
    with pytest.raises(ValueError, match="did you mean 'updates'"):
        bm.DLightSB().fit(bm.load("d2-gaussian-0.02"), update=3)
    with pytest.raises(ValueError, match="solver must be one of .* nearest is dlightsb"):
        bm.make_solver("dlightsbb")
    with pytest.raises(TypeError, match="make_solver"):
        bm.Solver()


def test_names_and_folders_stand_for_pairs(pair, tmp_path):
    pair.save(tmp_path / "pair")
    expected = bm.Reference().fit(pair)
    x0 = pair.sample_x0(20, seed=1)
    for given in (pair.name, str(tmp_path / "pair"), tmp_path / "pair"):
        solver = bm.Reference().fit(given)
        assert np.array_equal(solver.sample(x0, seed=1), expected.sample(x0, seed=1))
        result = bm.evaluate(given, solver, conditional_samples=10, num_trajectories=5)
        assert result["pair"] == pair.name
    expected.save(tmp_path / "run")
    assert bm.load_solver(tmp_path / "run", pair.name).coupling.pair.name == pair.name
    with pytest.raises(ValueError, match="nearest"):
        bm.Reference().fit("d2-gausian-0.02")
    with pytest.raises(TypeError, match="pair must be a Pair, the name of a preset or a pair fold"):
        bm.evaluate(3, expected)


def test_log_probabilities_of_a_solver_are_its_couplings(pair):
    solver = bm.Reference().fit(pair)
    x0, x1 = pair.sample_x0(20, seed=1), pair.sample_x1(20, seed=2)
    coupling = solver.coupling
    assert np.array_equal(solver.log_conditional(x0, x1), coupling.log_conditional(x0, x1))
    assert np.array_equal(solver.log_marginals(x0), coupling.log_marginals(x0))
    assert np.array_equal(
        solver.log_transition_marginals(x0, 8, 3), coupling.log_transition_marginals(x0, 8, 3)
    )


@pytest.mark.parametrize("name", bm.solvers())
def test_solvers_fit_and_draw(pair, name):
    solver = small(name)
    assert solver.fit(pair, seed=1) is solver
    x0 = pair.sample_x0(50, seed=1)
    x1 = solver.sample(x0, seed=2)
    assert x1.shape == (50, 2) and x1.dtype == np.int32
    assert np.array_equal(x1, solver.coupling.sample(x0, seed=2))
    assert np.array_equal(x1, small(name).fit(pair, seed=1).sample(x0, seed=2))
    assert solver.coupling.solver == name and solver.coupling.pair.name == pair.name
    assert pair.name in repr(solver) and pair.name in repr(solver.coupling)
    assert solver.coupling.seed == 1 and solver.coupling.seconds >= 0


def test_options_of_fit_go_over_those_of_the_constructor(pair):
    solver = bm.DLightSB(**SMALL).fit(pair, updates=3)
    assert solver.coupling.diagnostics["updates"] == 3
    assert solver.coupling.options["components"] == "6"
    assert solver.coupling.options["init"] == "p1"  # of the recipe
    assert solver.fit(pair).coupling.diagnostics["updates"] == SMALL["updates"]


def test_devices(pair):
    with pytest.raises(ValueError, match="cpu.*cuda.*'tpu'"):
        bm.Reference().fit(pair, device="tpu")
    with pytest.raises(ValueError, match="cpu.*cuda.*'tpu'"):
        bm.evaluate(pair, lambda x0: x0, device="tpu")
    try:
        solver = small("dlightsb").fit(pair, device="cuda")
    except RuntimeError as error:  # no CUDA in this build, or no card in this machine
        assert "[device]" in str(error) and "\n" not in str(error)
        with pytest.raises(RuntimeError, match="device"):
            bm.evaluate(pair, bm.Reference().fit(pair), device="cuda")
    else:
        assert bm.evaluate(pair, solver, device="cuda")["device"] == "cuda"


def test_unfitted_solver_says_so(pair):
    for call in (
        lambda solver: solver.sample([[1, 2]]),
        lambda solver: solver.sample_trajectory([[1, 2]]),
        lambda solver: solver.save("nowhere"),
        lambda solver: bm.evaluate(pair, solver),
    ):
        with pytest.raises(RuntimeError, match="dlightsb must be fitted first"):
            call(bm.DLightSB())


def test_trajectories(pair):
    solver = small("dlightsb").fit(pair)
    x0 = pair.sample_x0(30, seed=1)
    path = solver.sample_trajectory(x0, num_steps=8, seed=1)
    assert path.shape == (30, 9, 2) and np.array_equal(path[:, 0], x0)
    assert solver.sample_trajectory(x0).shape == (30, 17, 2)
    for steps in (3, 2**31 - 1):
        with pytest.raises(ValueError, match=f"no transitions with num_steps = {steps}"):
            solver.sample_trajectory(x0, num_steps=steps)
    with pytest.raises(ValueError, match="no transitions"):
        bm.Independent().fit(pair).sample_trajectory(x0)


def test_exact_quantities_of_a_coupling(pair):
    x0, x1 = pair.sample_joint(20, seed=1)
    oracle, reference = (solver().fit(pair).coupling for solver in (bm.Oracle, bm.Reference))
    assert np.array_equal(oracle.log_conditional(x0, x1), pair.log_conditional(x0, x1))
    assert np.array_equal(oracle.log_marginals(x0), pair.log_marginals(x0))
    assert np.array_equal(
        oracle.log_transition_marginals(x0, 16, 3), pair.log_transition_marginals(x0, 16, 3)
    )
    # Without a potential the conditional is the reference itself, coordinate by coordinate.
    log_q = pair.log_reference(pair.total_steps)
    expected = log_q[x0[:, 0], x1[:, 0]] + log_q[x0[:, 1], x1[:, 1]]
    np.testing.assert_allclose(reference.log_conditional(x0, x1), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="gives no conditional marginals"):
        bm.Independent().fit(pair).coupling.log_marginals(x0)


def test_answers_as_arrays_score_like_the_callable(pair):
    def solver(x0):
        return (x0 * 3 + 1) % 50

    inputs = np.repeat(pair.conditional_inputs()[:, None], 1000, axis=1)
    answers = (solver(pair.test_set()[0]), solver(inputs))
    kept, asked = bm.evaluate(pair, answers).scores, bm.evaluate(pair, solver).scores
    for name, value in asked.items():
        # Conditional answers that are kept meet draws of the truth that depend on them.
        drawn = value is not None and name.startswith("conditional_")
        assert kept[name] == (pytest.approx(value, abs=0.01) if drawn else value), name


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((19999, 2), (157, 1000, 2)), "x1 must have 20000 rows, got 19999"),
        (((20000, 3), (157, 1000, 2)), "x1 must have 2 columns"),
        (((20000, 2), (157, 999, 2)), r"must have shape \[inputs, 1000, 2\], got \(157, 999, 2\)"),
        (((20000, 2), (157000, 2)), r"conditional_x1 must have shape \[inputs, 1000, 2\]"),
        (((20000, 2), (157, 1000, 1)), "conditional_x1 must have 2 columns"),
    ],
)
def test_bad_answers_are_refused(pair, shapes, message):
    with pytest.raises(ValueError, match=message):
        bm.evaluate(pair, tuple(np.zeros(shape, np.int32) for shape in shapes))


# --- folders


@pytest.mark.parametrize("name", bm.solvers())
def test_saved_solvers_load(pair, tmp_path, name):
    solver = small(name).fit(pair, seed=1)
    solver.save(tmp_path / "run")
    x0 = pair.sample_x0(200, seed=1)
    expected = solver.sample(x0, seed=2)
    for loaded in (
        bm.load_solver(tmp_path / "run"),
        bm.load_solver(str(tmp_path / "run"), pair),
        type(solver).load(tmp_path / "run"),
    ):
        assert type(loaded) is type(solver)
        assert np.array_equal(loaded.sample(x0, seed=2), expected)
        assert loaded.coupling.options == solver.coupling.options
        assert loaded.coupling.diagnostics == solver.coupling.diagnostics
    with pytest.raises(OSError, match="already holds a run"):
        solver.save(tmp_path / "run")


def test_loading_the_wrong_thing_is_refused(pair, tmp_path):
    bm.Reference().fit(pair).save(tmp_path / "run")
    with pytest.raises(ValueError, match="must hold a run of dlightsb, got reference"):
        bm.DLightSB.load(tmp_path / "run")
    with pytest.raises(ValueError, match="was fitted to pair"):
        bm.load_solver(tmp_path / "run", bm.load("d2-uniform-0.01"))
    with pytest.raises(OSError, match="config.toml"):
        bm.load_solver(tmp_path)


def test_command_line_reads_a_saved_solver(command_line, pair, tmp_path):
    solver = small("dlightsb").fit(pair, seed=1)
    solver.save(tmp_path / "run")
    printed = command_line.json("evaluate", pair.name, "--run", tmp_path / "run")
    result = bm.evaluate(pair, solver)
    assert {key: printed[key] for key in result.scores} == result.scores


def test_saved_solver_of_a_pair_of_ones_own(tmp_path):
    pair = bm.build_pair(dim=2, num_categories=8, gamma=0.1, seed=5)
    small("dlightsb").fit(pair).save(tmp_path / "run")
    loaded = bm.load_solver(tmp_path / "run", pair)
    assert loaded.sample([[1, 2]]).shape == (1, 2)
    with pytest.raises(OSError, match="its pair 'custom' .* none of them has it"):
        bm.load_solver(tmp_path / "run")


def test_fit_in_a_folder_resumes(pair, tmp_path):
    x0 = pair.sample_x0(200, seed=1)
    whole = small("dlightsb").fit(pair, seed=1)
    solver = small("dlightsb")

    def stop_halfway(what, done, total, detail):
        if done >= 32:
            raise KeyboardInterrupt

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        solver.fit(pair, seed=1, folder=folder, log_every=1, progress=pausing(stop_halfway))
    assert (folder / "checkpoint.safetensors").exists() and not (folder / "result.json").exists()
    with pytest.raises(OSError, match="not complete"):
        bm.load_solver(folder)
    with pytest.raises(OSError, match="already holds a run"):
        solver.fit(pair, seed=1, folder=folder, log_every=1)
    with pytest.raises(OSError, match="another configuration"):
        solver.fit(pair, seed=2, folder=folder, log_every=1, resume=True)
    solver.fit(pair, seed=1, folder=folder, log_every=1, resume=True)
    assert solver.coupling.diagnostics["resumed_from"] == 32
    assert np.array_equal(solver.sample(x0, seed=2), whole.sample(x0, seed=2))
    again = small("dlightsb").fit(pair, seed=1, folder=folder, log_every=1, resume=True)
    # Complete: read, not trained.
    assert np.array_equal(again.sample(x0, seed=2), whole.sample(x0, seed=2))
    losses = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [entry["update"] for entry in losses] == list(range(1, 41))


def test_progress_reaches_its_end(pair, capsys):
    reports = []
    bm.DLightSB(**SMALL).fit(pair, updates=64, progress=lambda *report: reports.append(report))
    what, done, total, detail = reports[-1]
    assert (what, done, total) == ("dlightsb", 64, 64) and "loss" in detail
    bm.evaluate(pair, bm.Oracle().fit(pair), progress=True)  # too quick to say anything
    assert capsys.readouterr().err == ""


# --- history


def test_history_is_that_of_the_log(pair, tmp_path):
    options = {"updates": 25, "log_every": 10}
    solver = bm.DLightSB(**SMALL).fit(pair, **options, folder=tmp_path / "run")
    history = solver.history
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert list(history) == ["update", "loss", "seconds"]
    assert history["update"].tolist() == [10, 20, 25] and history["update"].dtype == np.int64
    for key, values in history.items():
        assert values.tolist() == [line[key] for line in lines]
    assert history["loss"][-1] == solver.coupling.diagnostics["last_loss"]
    assert (np.diff(history["seconds"]) >= 0).all()
    alone = bm.DLightSB(**SMALL).fit(pair, **options)  # without a folder it is kept all the same
    assert np.array_equal(alone.history["loss"], history["loss"])
    alone.save(tmp_path / "saved")
    for other in (
        bm.load_solver(tmp_path / "run"),
        bm.load_solver(tmp_path / "saved"),
        bm.DLightSB(**SMALL).fit(pair, **options, folder=tmp_path / "run", resume=True),
        pickle.loads(pickle.dumps(alone)),
        solver.reversed(),
    ):
        assert np.array_equal(other.history["loss"], history["loss"])
        assert np.array_equal(other.history["update"], history["update"])


def test_history_of_a_resumed_fit_is_whole(pair, tmp_path):
    def stop_halfway(what, done, total, detail):
        if done >= 32:
            raise KeyboardInterrupt

    options = {**SMALL, "log_every": 8}
    solver = bm.DLightSB(**options)
    with pytest.raises(KeyboardInterrupt):
        solver.fit(pair, folder=tmp_path / "run", progress=pausing(stop_halfway))
    solver.fit(pair, folder=tmp_path / "run", resume=True)
    whole = bm.DLightSB(**options).fit(pair)
    assert solver.history["update"].tolist() == [8, 16, 24, 32, 40]
    assert np.array_equal(solver.history["loss"], whole.history["loss"])


def test_history_of_other_solvers(pair, tmp_path):
    history = bm.CSBM(**SMALL_NETWORK).fit(pair).history
    assert list(history) == ["update", "loss", "seconds", "imf_iteration"]
    assert history["imf_iteration"].tolist() == sorted(history["imf_iteration"].tolist())
    assert set(history["imf_iteration"]) == {1, 2}
    for name in ("oracle", "feature-wise"):
        history = bm.make_solver(name).fit(pair).history
        assert {key: len(values) for key, values in history.items()} == {
            "update": 0, "loss": 0, "seconds": 0
        }  # fmt: skip


def test_runs_without_a_readable_log_load(pair, tmp_path):
    small("dlightsb").fit(pair).save(tmp_path / "run")
    log = tmp_path / "run" / "log.jsonl"
    log.write_text('{"update": "ten"}\n')
    with pytest.warns(UserWarning, match="log.jsonl: line 1.*history is empty"):
        assert len(bm.load_solver(tmp_path / "run").history["loss"]) == 0
    log.unlink()
    assert len(bm.load_solver(tmp_path / "run").history["loss"]) == 0


# --- Ctrl-C, as a user's terminal sends it

INTERRUPTED = """
import sys
import bridgemark as bm
pair = bm.load("d2-gaussian-0.02")
{before}
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""

LONG_CALLS = {
    "fit": "bm.DLightSB(components=8, batch_size=8, updates=10**9).fit(pair)",
    "fit in a folder": "bm.DLightSB(components=8, updates=10**9).fit(pair, folder=sys.argv[1])",
    "evaluate": "bm.evaluate(pair, oracle, num_seeds=100_000)",
    "sample": "pair.sample_x1(10**8)",
    "Coupling.sample": "oracle.sample(many)",
}


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("call", LONG_CALLS.values(), ids=LONG_CALLS.keys())
def test_a_signal_ends_the_call(tmp_path, call):
    before = "import numpy as np; oracle = bm.Oracle().fit(pair)"
    if "many" in call:
        before += "; many = np.zeros((10**8, 2), np.int32)"
    script = INTERRUPTED.format(call=call, before=before)
    process = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path / "run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        if "folder" in call:
            wait_for(lambda: (tmp_path / "run" / "log.jsonl").exists())
            wait_for(lambda: (tmp_path / "run" / "log.jsonl").stat().st_size > 0)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert (out, err, process.returncode) == ("interrupted\n", "", 0)
    if "folder" in call:
        assert (tmp_path / "run" / "checkpoint.safetensors").exists()
