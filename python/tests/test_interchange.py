"""Pair folders go to the published package and come back.

Its documented layout is checked everywhere; the package itself where it is installed, here or in
the interpreter that BRIDGEMARK_PEER_PYTHON names.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import safetensors_file

import bridgemark as bm

# Those of the published package, which passes over others, and `family` of ours.
CONFIG_KEYS = {
    "family": str,
    "dim": int,
    "input_shape": list,
    "num_potentials": int,
    "num_categories": int,
    "radius": float,
    "alpha": float,
    "num_timesteps": int,
    "num_skip_steps": int,
    "prior_type": str,
    "benchmark_type": str,
    "num_val_samples": int,
    "init_batch_size": int,
    "reverse": bool,
    "tau": float,
    "params_dtype": str,
    "eps": float,
    "input_distribution": str,
    "sample_quantize_range": list,
}


@pytest.mark.parametrize(
    "name", ["d2-gaussian-0.02", "d16-uniform-0.01", "d2-uniform-0.005-reverse"]
)
def test_folder_has_the_documented_layout(tmp_path, name):
    pair = bm.load(name)
    pair.save(tmp_path / "pair")
    assert {path.name for path in (tmp_path / "pair").iterdir()} == {
        "config.json",
        "model.safetensors",
    }
    config = json.loads((tmp_path / "pair" / "config.json").read_text())
    assert {key: type(value) for key, value in config.items()} == CONFIG_KEYS
    assert (config["dim"], config["input_shape"]) == (pair.dim, [pair.dim])
    assert (config["num_categories"], config["num_potentials"]) == (50, 4)
    assert (config["num_timesteps"] + 1) * config["num_skip_steps"] == pair.total_steps
    assert (config["prior_type"], config["alpha"]) == (pair.reference, pair.gamma)
    assert config["reverse"] == pair.reverse and config["num_val_samples"] == 20000

    tensors, _ = safetensors_file.read(tmp_path / "pair" / "model.safetensors")
    assert set(tensors) == {"log_alpha", "log_cp_cores", "input_dataset", "target_dataset"}
    assert np.array_equal(tensors["log_alpha"], pair.log_beta)
    assert np.array_equal(tensors["log_cp_cores"], pair.log_cores)
    for key, states in zip(("input_dataset", "target_dataset"), pair.test_set()):
        assert tensors[key].dtype == np.int64 and np.array_equal(tensors[key], states)


def test_folder_of_the_documented_layout_loads(tmp_path):
    rng = np.random.default_rng(5)
    config = {
        "dim": 2,
        "input_shape": [2],
        "num_potentials": 3,
        "num_categories": 6,
        "radius": 5.0,
        "alpha": 0.1,
        "num_timesteps": 3,
        "num_skip_steps": 4,
        "prior_type": "uniform",
        "benchmark_type": "gaussian",
        "num_val_samples": 300,
        "init_batch_size": 100,
        "reverse": False,
        "tau": 1.0,
        "params_dtype": "float64",
        "eps": 1e-20,
        "input_distribution": "gaussian",
        "sample_quantize_range": [-3, 3],
    }
    tensors = {
        "log_alpha": np.log([0.2, 0.3, 0.5]),
        "log_cp_cores": rng.normal(size=(2, 6, 3)),
        "input_dataset": rng.integers(0, 6, (300, 2)),
        "target_dataset": rng.integers(0, 6, (300, 2)),
    }
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    safetensors_file.write(folder / "model.safetensors", tensors)
    pair = bm.load(folder)
    assert (pair.name, pair.dim, pair.num_categories, pair.total_steps) == ("theirs", 2, 6, 16)
    assert np.array_equal(pair.log_cores, tensors["log_cp_cores"])
    assert np.array_equal(pair.test_set()[0], tensors["input_dataset"])
    assert len(pair.conditional_inputs()) == 3
    # q(x1|x0) = v(x1) q_ref(x1|x0) / c(x0), written out.
    step = np.where(np.eye(6, dtype=bool), 0.9, 0.1 / 5)
    q_ref = np.linalg.matrix_power(step, 16)
    v = np.einsum("k,ak,bk->ab", [0.2, 0.3, 0.5], *np.exp(tensors["log_cp_cores"]))
    joint = v * q_ref[2][:, None] * q_ref[5][None, :]
    marginals = np.exp(pair.log_marginals([[2, 5]]))[0]
    np.testing.assert_allclose(marginals[0], joint.sum(1) / joint.sum(), rtol=1e-11)
    np.testing.assert_allclose(marginals[1], joint.sum(0) / joint.sum(), rtol=1e-11)


# What the package makes of a folder, and what it writes itself, as .npy files and folders.
PEER_SCRIPT = """
import sys
import numpy as np
from catsbench import BenchmarkHD, BenchmarkHDConfig

def keep(benchmark, out):
    x = benchmark.input_dataset
    np.save(out + "/x.npy", x[:50].numpy())
    np.save(out + "/test_x0.npy", x.numpy())
    np.save(out + "/test_x1.npy", benchmark.target_dataset.numpy())
    np.save(out + "/logits.npy", benchmark.get_cum_transition_logits(x[:50]).numpy())
    benchmark.save_pretrained(out + "/pair", config=benchmark.config)

keep(BenchmarkHD.from_pretrained(sys.argv[1], "", init_benchmark=False), sys.argv[2])
keep(BenchmarkHD(BenchmarkHDConfig(
    dim=2, input_shape=(2,), num_potentials=3, num_categories=20, radius=5.0, alpha=0.05,
    num_timesteps=15, num_skip_steps=8, prior_type="gaussian", benchmark_type="gaussian",
    num_val_samples=500, init_batch_size=500, reverse=False, tau=1.0, params_dtype="float64",
    input_distribution="gaussian", sample_quantize_range=(-3, 3))), sys.argv[3])
"""


@pytest.fixture(scope="module")
def peer_python():
    program = os.environ.get("BRIDGEMARK_PEER_PYTHON", sys.executable)
    found = subprocess.run([program, "-c", "import catsbench"], capture_output=True, check=False)
    if found.returncode != 0:
        pytest.skip(f"catsbench is not installed for {program}: set BRIDGEMARK_PEER_PYTHON")
    return program


def test_published_package_reads_and_writes_the_same_pairs(peer_python, tmp_path, pair):
    pair.save(tmp_path / "ours")
    for name in ("back", "theirs"):
        (tmp_path / name).mkdir()
    subprocess.run(
        [peer_python, "-c", PEER_SCRIPT, *(tmp_path / name for name in ("ours", "back", "theirs"))],
        check=True,
        capture_output=True,
    )
    for name in ("back", "theirs"):
        kept = {path.stem: np.load(path) for path in (tmp_path / name).glob("*.npy")}
        loaded = bm.load(tmp_path / name / "pair")
        for ours, theirs in zip(loaded.test_set(), (kept["test_x0"], kept["test_x1"])):
            assert np.array_equal(ours, theirs)
        # The package adds 1e-20 inside its logarithms: probabilities agree to that.
        np.testing.assert_allclose(
            np.exp(loaded.log_marginals(kept["x"])), np.exp(kept["logits"]), rtol=1e-9, atol=1e-18
        )
    back = bm.load(tmp_path / "back" / "pair")
    assert np.array_equal(back.log_cores, pair.log_cores)
    assert np.array_equal(back.test_set()[1], pair.test_set()[1])
    assert np.array_equal(back.sample_x0(100, seed=1), pair.sample_x0(100, seed=1))
