"""CSBM and AlphaCSBM of bridgemark.torch: learning, resuming, ranks, files, scores."""

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import bridgemark as bm

torch = pytest.importorskip("torch", reason="torch is not installed")
from bridgemark.torch import (  # noqa: E402
    CSBM,
    AlphaCSBM,
    NetworkCoupling,
    Reference,
    load,
    networks,
)

SOLVERS = [CSBM, AlphaCSBM]
FAST = {
    "updates_first": 30,
    "updates_later": 12,
    "imf_iterations": 2,
    "batch_size": 16,
    "initial_pairs": 64,
    "initial_batch": 32,
    "log_every": 5,
}


def small_network(dim=2, size=4, steps=4, seed=0):
    torch.manual_seed(seed)
    return networks.MLP(dim, size, steps, hidden=(32,), embedding=4)


def small_model(kind=CSBM, **options):
    reference = Reference.uniform(4, 0.05, num_steps=4, total_steps=16)
    return kind(small_network(), reference, **{**FAST, **options})


def small_rows(count=150):
    draws = np.random.default_rng(1)
    x0 = draws.integers(0, 4, (count, 2))
    first = draws.integers(0, 4, (count, 1))
    return x0, np.concatenate((first, (first + draws.integers(0, 2, (count, 1))) % 4), 1)


def parameters(model):
    return {
        f"{direction}.{name}": value
        for direction, coupling in model._couplings.items()
        for name, value in coupling.network.state_dict().items()
    }


def same(a, b):
    a, b = parameters(a), parameters(b)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def chain_law(model, x0):
    """q(x_N | x0) of a small chain on 4^2 states, by enumeration."""
    states = torch.cartesian_prod(torch.arange(4), torch.arange(4))
    law = (states == torch.as_tensor(x0)).all(1).double()
    for n in range(model.num_steps):
        steps = model.log_transition_marginals(states, model.num_steps, n).exp()
        law = law @ (steps[:, 0, states[:, 0]] * steps[:, 1, states[:, 1]])
    return law


@pytest.mark.parametrize("kind", SOLVERS)
def test_draws_are_those_of_its_steps(kind):
    model = small_model(kind, holdout=0.0).fit(*small_rows())
    drawn = model.sample(np.tile([[1, 2]], (40_000, 1)), seed=3)
    again = model.sample(np.tile([[1, 2]], (40_000, 1)), seed=3)
    assert isinstance(drawn, np.ndarray) and np.array_equal(drawn, again)
    law = chain_law(model, [1, 2]).numpy()
    found = np.bincount(4 * drawn[:, 0] + drawn[:, 1], minlength=16) / len(drawn)
    chi = len(drawn) * ((found - law) ** 2 / law).sum()
    assert abs(law.sum() - 1) < 1e-12 and chi < 60.0  # 15 degrees: one false alarm in 4e6
    path = model.sample_trajectory(torch.tensor([[0, 0]]), seed=1)
    assert path.shape == (1, 5, 2) and torch.equal(path[:, 0], torch.tensor([[0, 0]]))


@pytest.mark.parametrize("kind", SOLVERS)
def test_learns_the_ends(kind):
    x0, _ = small_rows(2000)
    x1 = 2 + x0[::-1] % 2  # half of the categories, coordinates apart from each other
    model = small_model(
        kind, holdout=0.0, updates_first=300, updates_later=60, batch_size=64, learning_rate=0.005
    )
    before = np.bincount(4 * x0[:, 0] + x0[:, 1], minlength=16) / len(x0)
    expected = np.bincount(4 * x1[:, 0] + x1[:, 1], minlength=16) / len(x1)
    drawn = model.fit(x0, x1).sample(x0, seed=1)
    found = np.bincount(4 * drawn[:, 0] + drawn[:, 1], minlength=16) / len(drawn)
    assert np.abs(found - expected).sum() < 0.25 < 0.9 < np.abs(before - expected).sum()
    back = model.reversed().sample(x1, seed=1)
    found = np.bincount(4 * back[:, 0] + back[:, 1], minlength=16) / len(back)
    assert np.abs(found - before).sum() < 0.25


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_pair_is_scored_with_its_joint_kl(kind):
    pair = bm.load("d2-uniform-0.01-spread")
    network = networks.MLP(2, 50, 16, hidden=(16,))
    model = kind(network, pair, **{**FAST, "updates_first": 4, "updates_later": 2}).fit(pair)
    result = bm.evaluate(pair, model, conditional_samples=20, particles=4)
    assert result["joint_kl_bound"] == "upper" and math.isfinite(result["joint_kl"])
    assert result["num_steps"] == 16 and result["forward_trajectory_kl"] > 0.0
    assert result["conditional_shape_score"] is not None
    back = bm.evaluate("d2-uniform-0.01-spread-reverse", model.reversed(), conditional_samples=20,
                       particles=4)  # fmt: skip
    assert math.isfinite(back["joint_kl"])


class Killed(Exception):
    pass


class KillAt:
    """What a log is told, until an update that it does not survive."""

    def __init__(self, update):
        self.update = update

    def __call__(self, line):
        if line["update"] >= self.update:
            raise Killed


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("holdout", [0.0, 0.3])
def test_killed_and_resumed_is_the_same(kind, holdout, tmp_path):
    rows = small_rows()
    options = {"holdout": holdout, "patience": 1, "checkpoint_every": 0.0}
    whole = small_model(kind, **options).fit(*rows, seed=7)

    for at in (10, 35, 55):
        folder = tmp_path / str(at)
        with contextlib.suppress(Killed):
            kill = KillAt(at)
            small_model(kind, **options).fit(*rows, seed=7, folder=folder, on_log=kill)
        torch.manual_seed(at)  # another start: the checkpoint has the run's own
        other = kind(
            small_network(seed=at),
            Reference.uniform(4, 0.05, num_steps=4, total_steps=16),
            **{**FAST, **options},
        ).fit(*rows, seed=7, folder=folder, resume=True)
        assert same(other, whole)
        assert [line["update"] for line in other.history] == [
            line["update"] for line in whole.history
        ]
        lines = (folder / "log.jsonl").read_text().splitlines()
        assert [json.loads(line)["loss"] for line in lines] == [
            line["loss"] for line in whole.history
        ]


@pytest.mark.parametrize("kind, walks", [(CSBM, [192, 192]), (AlphaCSBM, [16] * 24)])
def test_a_chain_that_stands_still_walks_once_for_many_updates(kind, walks, monkeypatch):
    rows, whole = [], NetworkCoupling.draw_ends

    def counted(self, x0, generator):
        rows.append(len(x0))
        return whole(self, x0, generator)

    monkeypatch.setattr(NetworkCoupling, "draw_ends", counted)
    small_model(kind, holdout=0.0).fit(*small_rows())
    assert rows == walks


def test_averages_are_those_of_older_torch(monkeypatch):
    new = small_model().fit(*small_rows())
    monkeypatch.delattr(torch, "_foreach_lerp_", raising=False)
    assert same(new, small_model().fit(*small_rows()))


def test_a_fit_starts_anew():
    model = small_model(holdout=0.0)
    first = parameters(model.fit(*small_rows(), seed=1))
    second = parameters(model.fit(*small_rows(), seed=1))
    assert all(torch.equal(first[name], second[name]) for name in first)
    third = parameters(model.fit(*small_rows(), seed=2))
    assert any(not torch.equal(first[name], third[name]) for name in first)


def test_rows_held_out_stop_it():
    x0, x1 = small_rows(60)
    options = {"updates_first": 600, "learning_rate": 0.02, "schedule": "constant"}
    model = small_model(holdout=0.5, patience=2, refit=False, **options).fit(x0, x1)
    told = model.diagnostics
    assert told["held_out_rows"] == 30
    assert told["held_out_update_1_forward"] < 600 and told["updates"] < 1200
    assert told["held_out_loss_1_forward"] > 0.0
    refitted = small_model(holdout=0.5, patience=2, **options).fit(x0, x1)
    assert refitted.diagnostics["refit"] and refitted.history[-1]["refit"]


@pytest.mark.parametrize("kind", SOLVERS)
def test_what_is_saved_is_loaded(kind, tmp_path, command_line):
    model = small_model(kind, holdout=0.0).fit(*small_rows())
    model.save(tmp_path / "run")
    with pytest.raises(OSError, match="already holds a run"):
        model.save(tmp_path / "run")
    loaded = load(tmp_path / "run")
    assert type(loaded) is kind and loaded.recipe == model.recipe and same(loaded, model)
    x = np.array([[0, 1], [3, 3]])
    assert np.array_equal(loaded.sample(x, seed=1), model.sample(x, seed=1))
    assert np.array_equal(loaded.reversed().sample(x, seed=1), model.reversed().sample(x, seed=1))
    with pytest.raises(OSError, match="holds a run of bridgemark.torch"):
        bm.load_solver(tmp_path / "run")
    np.save(tmp_path / "x0.npy", x)
    arguments = ["sample", "--run", tmp_path / "run", "--given", tmp_path / "x0.npy"]
    done = subprocess.run(
        [command_line.program, *arguments, "-o", tmp_path / "x1.npy"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "bridgemark.torch.load(folder)" in done.stderr


def test_a_network_of_ones_own_is_asked_for(tmp_path):
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = small_network()

        def forward(self, x, n):
            return self.inner(x, n)

    reference = Reference.matrix(np.full((4, 4), 0.1) + 0.6 * np.eye(4), num_steps=4, total_steps=8)
    model = CSBM(Own(), reference, **FAST).fit(*small_rows(), folder=tmp_path / "run")
    with pytest.raises(ValueError, match="a network of your own, Own"):
        load(tmp_path / "run")
    loaded = load(tmp_path / "run", Own())
    assert same(loaded, model) and loaded.reference.kind == "matrix"
    with pytest.raises(ValueError, match="must hold a run of alpha-csbm, got csbm"):
        AlphaCSBM.load(tmp_path / "run", Own())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"updates": 3}, "unknown option updates, did you mean updates_"),
        ({"quantum": 3}, "unknown option quantum, known are "),
        ({"loss": "l2"}, "loss must be one of kl, mse, got 'l2'"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1, got 0"),
        ({"holdout": 2.0}, r"holdout must be in \[0, 0.9\], got 2.0"),
        ({"num_steps": 3}, "num_steps must be a positive divisor of 16, got 3"),
    ],
)
def test_a_wrong_option_is_refused(change, says):
    with pytest.raises(ValueError, match=says):
        small_model(**change)


def test_wrong_data_is_refused(tmp_path):
    model, (x0, x1) = small_model(), small_rows()
    for wrong, says in [
        ((x0, x1 + 1), r"x1 must have categories in 0..3, got 4"),
        ((x0 / 1, x1), "x0 must be integers"),
        ((x0, x1[:, :1]), "the same coordinates, got 2 and 1"),
        (("d2-uniform-0.01",), "4 categories, got 50"),
        ((x0[:, :1], x1[:, :1]), r"the forward network must give logits|mat1 and mat2|size"),
    ]:
        with pytest.raises((ValueError, RuntimeError), match=says):
            model.fit(*wrong, folder=tmp_path / "run")
        assert not (tmp_path / "run").exists()
    with pytest.raises(RuntimeError, match="must be fitted first"):
        model.sample(x0)


@pytest.mark.parametrize("loss", ["kl", "mse"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_losses_and_precisions_train(loss, precision):
    options = {"loss": loss, "precision": precision, "initial": "reference", "clip": 1.0}
    model = small_model(**options, holdout=0.0).fit(*small_rows())
    assert model.history[-1]["loss"] < model.history[0]["loss"] + 0.2
    assert model.sample(torch.zeros(3, 2, dtype=torch.int32)).dtype == torch.int64


@pytest.mark.parametrize(
    ("network", "dim", "size"),
    [
        (networks.MLP(6, 5, 4), 6, 5),
        (networks.Convolution(6, 5, 4, width=16, blocks=2), 6, 5),
        (networks.Transformer(6, 5, 4, width=16, layers=1), 6, 5),
        (networks.UNet(3, 5, 4, 4, widths=(8, 16)), 15, 4),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, torch.nn.Module) else "",
)
def test_networks_see_states_and_steps(network, dim, size):
    x = torch.randint(size, (3, dim), generator=torch.Generator().manual_seed(1))
    n = torch.tensor([0, 1, 3])
    logits = network.eval()(x, n)
    assert logits.shape == (3, dim, size) and torch.isfinite(logits).all()
    logits.square().sum().backward()
    assert all(p.grad is not None for p in network.parameters())
    assert not torch.allclose(network(x, n.flip(0))[0], logits[0])
    x[:, 0] = (x[:, 0] + 1) % size
    assert not torch.allclose(network(x, n), logits)
    again = networks.make({"name": type(network).__name__, **network.settings}, "folder")
    again.load_state_dict(network.state_dict())


SCRIPT = """
import sys
import numpy as np
import torch
torch.set_num_threads(1)
from bridgemark.torch import CSBM, Reference, networks
torch.manual_seed(0)
reference = Reference.uniform(4, 0.05, num_steps=4, total_steps=16)
options = dict(updates_first=60, updates_later=10, imf_iterations=2, batch_size=16, log_every=5,
               initial="independent", holdout=0.25, patience=3, checkpoint_every=0.05)
model = CSBM(networks.MLP(2, 4, 4, hidden=(32,)), reference, **options)
draws = np.random.default_rng(1)
x0, x1 = draws.integers(0, 4, (200, 2)), draws.integers(0, 2, (200, 2))
model.fit(x0, x1, folder=sys.argv[1], resume="resume" in sys.argv)
"""


def launch(script, *arguments, ranks=1):
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
    command = [sys.executable, *(torchrun if ranks > 1 else []), script, *map(str, arguments)]
    return subprocess.Popen(
        command, env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    )


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="torchrun of torch 1 is of Python 3.10")
def test_two_ranks_train_one_model(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    assert launch(script, tmp_path / "a", ranks=2).wait(timeout=300) == 0
    assert launch(script, tmp_path / "b", ranks=2).wait(timeout=300) == 0
    a, b = load(tmp_path / "a"), load(tmp_path / "b")
    assert same(a, b)
    assert a.sample(np.zeros((200, 2), int), seed=1).max() <= 3
    assert a.history[0]["loss"] > 0.0 and a.diagnostics["refit"]


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_is_resumed(tmp_path, by):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    assert launch(script, tmp_path / "whole").wait(timeout=300) == 0
    process = launch(script, tmp_path / "killed")
    while process.poll() is None and not (tmp_path / "killed" / "checkpoint.pt").exists():
        time.sleep(0.01)
    process.send_signal(by)
    process.wait(timeout=300)
    assert launch(script, tmp_path / "killed", "resume").wait(timeout=300) == 0
    whole, killed = (Path(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert whole.read_bytes() == killed.read_bytes()
