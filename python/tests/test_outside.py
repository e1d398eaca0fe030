"""Solvers of other makers: objects that know their probabilities are scored like our own."""

import numpy as np
import pytest

import bridgemark as bm

QUICK = {"num_trajectories": 50}


class Sampler:
    """Draws alone."""

    def __init__(self, source):
        self.source = source
        self.seeds = []

    def sample(self, x0, seed):
        self.seeds.append(seed)
        draw = getattr(self.source, "sample_conditional", None) or self.source.sample
        return draw(x0, seed)


class Full(Sampler):
    """Everything that `source`, a pair or a coupling of ours, knows of itself."""

    def __init__(self, source, num_steps=8):
        super().__init__(source)
        self.num_steps = num_steps

    def log_marginals(self, x0):
        return self.source.log_marginals(x0)

    def log_conditional(self, x0, x1):
        return self.source.log_conditional(x0, x1)

    def log_transition_marginals(self, x, num_steps, n):
        assert num_steps == self.num_steps and 0 <= n < num_steps
        return self.source.log_transition_marginals(x, num_steps, n)


def test_the_truths_probabilities_are_perfect(pair):
    result = bm.evaluate(pair, Full(pair), **QUICK)
    assert result["exact_conditional_shape_score"] == pytest.approx(1.0, abs=1e-12)
    assert result["joint_kl"] == 0.0
    assert result["num_steps"] == 8
    for name in ("forward_trajectory_kl", "reverse_trajectory_kl"):
        assert abs(result[name]) < 1e-12
    assert result["missing"] == {} and result.label == "Full"
    assert 0.9 < result["conditional_shape_score"] < 1


def test_scores_are_those_of_the_same_coupling_of_ours(pair):
    ours = bm.Reference().fit(pair).coupling  # its transitions factorise
    direct = bm.evaluate(pair, ours, num_steps=8, **QUICK)
    result = bm.evaluate(pair, Full(ours), **QUICK)
    for name in ("exact_conditional_shape_score", "joint_kl"):
        assert result[name] == pytest.approx(direct[name], rel=1e-12)
        assert direct[name] not in (0.0, 1.0)
    # Both stand on the trajectories of the truth; those of the coupling are drawn anew.
    assert result["forward_trajectory_kl"] == pytest.approx(
        direct["forward_trajectory_kl"], rel=1e-9
    )
    error = np.hypot(*(r["standard_errors"]["reverse_trajectory_kl"] for r in (direct, result)))
    apart = abs(result["reverse_trajectory_kl"] - direct["reverse_trajectory_kl"])
    assert apart < 5 * error


def test_float32_rows_are_normalised(pair):
    class Narrow(Full):
        def log_marginals(self, x0):
            return super().log_marginals(x0).astype(np.float32)

        def log_transition_marginals(self, x, num_steps, n):
            # Probabilities that sum to 1 + 5e-5: taken as they are, the KL would be -8e-4.
            return super().log_transition_marginals(x, num_steps, n) + 5e-5

    result = bm.evaluate(pair, Narrow(pair), **QUICK)
    assert result["exact_conditional_shape_score"] == pytest.approx(1.0, abs=1e-5)
    assert abs(result["forward_trajectory_kl"]) < 1e-10


def test_own_transitions_are_drawn_by_the_object(pair):
    class Stepper(Full):
        def sample_transition(self, x, num_steps, n, seed):
            self.steps.append((num_steps, n, len(x)))
            return x

    stepper = Stepper(pair)
    stepper.steps = []
    bm.evaluate(pair, stepper, **QUICK)
    assert stepper.steps == [(8, n, 50) for n in range(7)]  # the last step needs no draw


class Steps(Sampler):
    """Steps alone: what a chain solver knows of itself."""

    num_steps = 4

    def log_transition_marginals(self, x, num_steps, n):
        return self.source.log_transition_marginals(x, num_steps, n)


def test_steps_alone_have_a_joint_kl_by_particles(pair):
    quick = QUICK | {"conditional_samples": 10, "max_seconds": 0}
    one, many = (bm.evaluate(pair, Steps(pair), particles=p, **quick) for p in (1, 16))
    assert many["joint_kl_bound"] == "upper" and many["joint_kl_particles"] == 16
    assert many["joint_kl_rows"] == 200 and len(many["joint_kl_worst_rows"]) == 2
    assert one["joint_kl_half_particles_change"] is None
    assert many["joint_kl_half_particles_change"] >= 0
    assert many["joint_kl"] < one["joint_kl"]  # that of whole paths
    assert "joint_kl: an upper bound by 16 particles on 200 rows" in str(many)
    oracle = bm.evaluate(pair, bm.Oracle().fit(pair), **QUICK)
    assert oracle["joint_kl_bound"] == "exact" and "upper bound" not in str(oracle)
    # Of one particle nothing is known of how far the bound is: it is not told worse.
    reference = bm.evaluate(pair, bm.Reference().fit(pair), **QUICK)
    table = bm.compare({"one": one, "reference": reference}, "joint_kl", ties=True)
    assert table[0]["joint_kl"] < table[1]["joint_kl"]
    assert [row["joint_kl ties"] for row in table] == ["a", "b"]
    worse = bm.compare({"one": one, "exact": oracle}, "joint_kl", ties=True)
    assert [row["joint_kl ties"] for row in worse] == ["", "a"]
    # The truth's steps, but for how their coordinates go together.
    assert many["joint_kl"] < 0.5 and many["forward_trajectory_kl"] < 1e-9
    off = bm.evaluate(pair, Steps(pair), particles=0, **quick)
    assert off["joint_kl"] is None and off["joint_kl_bound"] is None
    assert off["missing"]["joint_kl"].endswith("log_conditional(x0, x1), and particles = 0")
    with pytest.raises(ValueError, match="particles must lie in 0..65536, got 65537"):
        bm.evaluate(pair, Steps(pair), particles=65537, **quick)

    class Stepper(Steps):  # its steps may be more than the product of their marginals
        def sample_transition(self, x, num_steps, n, seed):
            return x

    own = bm.evaluate(pair, Stepper(pair), particles=1, **quick)
    assert own["missing"] == off["missing"] | {
        "joint_kl": "the object has no log_conditional(x0, x1)"
    }


def test_a_missing_score_names_what_the_object_lacks(pair):
    result = bm.evaluate(pair, Sampler(pair), **QUICK)
    assert result["missing"] == {
        "exact_conditional_shape_score": "the object has no log_marginals(x0)",
        "joint_kl": "the object has no log_conditional(x0, x1)",
        "forward_trajectory_kl": "the object has no num_steps with "
        "log_transition_marginals(x, num_steps, n)",
        "reverse_trajectory_kl": "the object has no num_steps with "
        "log_transition_marginals(x, num_steps, n)",
    }
    unstepped = Full(pair, num_steps=None)
    assert bm.evaluate(pair, unstepped, **QUICK)["missing"].keys() == {
        "forward_trajectory_kl",
        "reverse_trajectory_kl",
    }


def test_seeds_repeat_with_the_protocols_and_differ_between_calls(pair):
    first, again, other = Sampler(pair), Sampler(pair), Sampler(pair)
    results = [
        bm.evaluate(pair, sampler, seed=seed)
        for sampler, seed in ((first, 3), (again, 3), (other, 4))
    ]
    assert first.seeds == again.seeds and not set(first.seeds) & set(other.seeds)
    assert len(set(first.seeds)) == len(first.seeds) == 158
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in first.seeds)
    assert results[0]["shape_score"] == results[1]["shape_score"] != results[2]["shape_score"]


def broken(**methods):
    return type("Broken", (Full,), methods)


@pytest.mark.parametrize(
    ("solver", "error", "message"),
    [
        (broken(sample=lambda s, x, seed: x[:-1]), ValueError, "sample must return as many rows"),
        (broken(sample=lambda s, x, seed: x + 50), ValueError, "what sample returned must hold"),
        (broken(sample=lambda s, x: x), TypeError, "positional argument"),
        (
            broken(log_marginals=lambda s, x: np.zeros((len(x), 2, 50))),
            ValueError,
            "what log_marginals returned must hold log-probabilities that sum to 1 within 0.0001",
        ),
        (
            broken(log_marginals=lambda s, x: np.full((len(x), 2, 50), np.nan)),
            ValueError,
            "sum to 1 .* got nan in row 0",
        ),
        (
            broken(log_marginals=lambda s, x: np.full((len(x), 2, 4), np.log(0.25))),
            ValueError,
            r"shape \[157, 2, 50\], got \[157, 2, 4\]",
        ),
        (
            broken(log_marginals=lambda s, x: np.zeros((3, 2, 50))),
            ValueError,
            "log_marginals must return as many rows as it is given, 157, got 3",
        ),
        (
            broken(log_marginals=lambda s, x: ["no"]),
            ValueError,
            r"must be an array \[B,D,S\] of numbers",
        ),
        (
            broken(log_conditional=lambda s, x, y: np.ones(len(x))),
            ValueError,
            "what log_conditional returned must hold log-probabilities, at most 0, got 1 in row 0",
        ),
        (
            broken(log_conditional=lambda s, x, y: np.zeros((len(x), 1))),
            ValueError,
            r"must be an array \[B\] of numbers",
        ),
        (
            broken(log_transition_marginals=lambda s, x, m, n: np.zeros((len(x), 2, 50))),
            ValueError,
            "what log_transition_marginals returned must hold log-probabilities",
        ),
    ],
)
def test_what_an_object_gives_is_checked(pair, solver, error, message):
    with pytest.raises(error, match=message):
        bm.evaluate(pair, solver(pair), **QUICK)


@pytest.mark.parametrize(
    ("num_steps", "message"),
    [
        (3, "num_steps must be a positive divisor of 128, got 3"),
        (0, "num_steps of the coupling must lie in"),
        ("many", "num_steps of the coupling must be a whole number or None, got 'many'"),
    ],
)
def test_bad_grids_are_refused(pair, num_steps, message):
    with pytest.raises(ValueError, match=message):
        bm.evaluate(pair, Full(pair, num_steps))


def test_arrays_of_probabilities_in_files(command_line, tmp_path, pair):
    x0, x1 = pair.test_set()
    inputs = pair.conditional_inputs()
    repeated = np.repeat(inputs, 10, axis=0)
    np.save(tmp_path / "pred_x1.npy", x1)
    np.save(
        tmp_path / "pred_conditional_x1.npy",
        pair.sample_conditional(repeated, seed=1).reshape(157, 10, 2),
    )
    np.save(tmp_path / "pred_log_marginals.npy", pair.log_marginals(inputs))
    np.save(tmp_path / "pred_log_conditional.npy", pair.log_conditional(x0, x1))
    printed = command_line.json(
        "evaluate", pair.name, "--predictions", tmp_path, "--conditional-samples", 10
    )
    assert printed["joint_kl"] == 0.0
    assert printed["exact_conditional_shape_score"] == pytest.approx(1.0, abs=1e-12)


def test_protocol_tells_objects_apart(pair):
    assert isinstance(Sampler(pair), bm.OutsideCoupling)
    assert not isinstance(lambda x0: x0, bm.OutsideCoupling)


# --- into an experiment


@pytest.fixture(scope="module")
def experiment(command_line, tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    (folder / "x.toml").write_text(
        "name = 'x'\n[evaluation]\ntrajectories = 20\nconditional_samples = 20\n"
        "[[grid]]\npairs = ['d2-gaussian-0.02']\nsolvers = ['oracle']\n"
    )
    command_line("run", folder / "x.toml", "-o", folder / "out")
    return folder / "out"


def test_result_enters_an_experiment(command_line, experiment, pair):
    protocol = {"num_trajectories": 20, "conditional_samples": 20}
    result = bm.evaluate(pair, Full(pair), label="Wrapped truth", add_to=experiment, **protocol)
    assert result.label == "Wrapped truth"
    command_line("report", experiment, "-o", experiment / "r.html", "--tables-only")
    rows = (experiment / "tables.md").read_text().splitlines()
    wrapped = [row for row in rows if "Wrapped truth" in row]
    assert len(wrapped) == len([row for row in rows if "| _Oracle_ |" in row]) > 5
    lines = (experiment / "tables.csv").read_text().splitlines()
    line = next(row for row in lines if row.startswith("conditional_shape_score,Wrapped truth"))
    assert str(result["conditional_shape_score"]) in line


def test_own_metrics_enter_an_experiment(experiment, pair):
    result = bm.evaluate(
        pair,
        lambda x0: x0,
        label="Same",
        add_to=experiment,
        num_trajectories=20,
        conditional_samples=20,
        metrics={"moved": lambda x0, x1, drawn: 7.25 + (x0 != drawn).mean()},
    )
    assert result["moved"] == 7.25
    (row,) = bm.load_results(experiment).where(score="moved")
    assert (row["method"], row["value"]) == ("Same", 7.25)
    bm.report(experiment, experiment / "m.html")
    assert "## moved (own metric)" in (experiment / "tables.md").read_text()
    assert '"group":"Own metrics"' in (experiment / "m.html").read_text()


def test_bad_additions_are_refused(experiment, pair, tmp_path):
    def never(x0):
        raise AssertionError("must not be asked")

    with pytest.raises(ValueError, match="add_to needs label"):
        bm.evaluate(pair, never, add_to=experiment)
    with pytest.raises(ValueError, match="label must look like none of the experiment's"):
        bm.evaluate(pair, never, label="Oracle", add_to=experiment, conditional_samples=20)
    with pytest.raises(ValueError, match="conditional_samples must be 20 .* got 1000"):
        bm.evaluate(pair, never, label="mine", add_to=experiment)
    with pytest.raises(OSError, match="has no results.jsonl"):
        bm.evaluate(pair, never, label="mine", add_to=tmp_path)
