"""Loggers of others: the examples of docs/logging.md offline, and TensorBoard's own reader.

`make test-loggers` installs them; elsewhere these tests are skipped.
"""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bridgemark as bm

PAGE = Path(__file__).resolve().parents[2] / "docs" / "logging.md"
SMALL = {"updates": 40, "components": 6, "batch_size": 16, "log_every": 10}


def run_example(heading, folder, **environment):
    """Runs the Python below a heading of the page as it stands."""
    text = PAGE.read_text()
    section = text[text.index(f"## {heading}\n") :]
    code = re.search(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[1]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def accumulated():
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

    def read(folder):
        found = reader.EventAccumulator(str(folder), size_guidance={reader.SCALARS: 0})
        found.Reload()
        return found

    return read


def stop_at(update):
    def on_log(line):
        if line["update"] == update:
            raise InterruptedError

    return on_log


def test_tensorboard_reads_what_the_log_has(pair, tmp_path, accumulated):
    solver = bm.DLightSB(**SMALL).fit(pair, tensorboard=tmp_path, validate_every=20)
    found = accumulated(tmp_path)
    history = solver.history
    assert set(found.Tags()["scalars"]) == {"loss", "seconds", "joint_kl", "joint_kl_error"}
    losses = found.Scalars("loss")
    assert [event.step for event in losses] == history["update"].tolist()
    assert [event.value for event in losses] == pytest.approx(history["loss"].tolist(), rel=1e-6)
    assert [event.step for event in found.Scalars("joint_kl")] == [20, 40]
    assert all(before.wall_time <= after.wall_time for before, after in zip(losses, losses[1:]))


def test_tensorboard_shows_no_step_twice_after_a_resume(pair, tmp_path, accumulated):
    where = {"folder": tmp_path / "run", "tensorboard": tmp_path / "events"}
    solver = bm.DLightSB(**SMALL)
    with pytest.raises(InterruptedError):
        solver.fit(pair, **where, on_log=stop_at(20))
    # A killed training has lines behind its checkpoint; they are made again.
    (tmp_path / "run" / "checkpoint.safetensors").unlink()
    solver.fit(pair, **where, resume=True)
    assert len(list((tmp_path / "events").iterdir())) == 2
    losses = accumulated(tmp_path / "events").Scalars("loss")
    assert [event.step for event in losses] == [10, 20, 30, 40]


def wandb_records(path):
    """The messages of a file of W&B: 7 bytes, then pieces with a head of 7 in blocks of 32 KiB."""
    text, at, message = path.read_bytes(), 7, b""
    while at < len(text):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", text, at)
        message += text[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            yield message
            message = b""


def test_wandb_takes_the_example_offline(tmp_path):
    messages = pytest.importorskip("wandb.proto.wandb_internal_pb2")
    run_example("Weights & Biases", tmp_path, WANDB_MODE="offline", WANDB_SILENT="true")
    (file,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    steps = []
    for text in wandb_records(file):
        record = messages.Record()
        record.ParseFromString(text)
        if record.WhichOneof("record_type") == "history":
            logged = {i.key or i.nested_key[0]: i.value_json for i in record.history.item}
            assert np.isfinite(float(logged["loss"]))
            steps.append((record.history.step.num, int(logged["update"])))
    assert steps == [(n, n) for n in (100, 200, 300, 400, 500)]


def test_mlflow_takes_the_example_in_a_local_folder(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs more than the client
    address = (tmp_path / "runs").as_uri()
    run_example("MLflow", tmp_path, MLFLOW_TRACKING_URI=address)
    client = mlflow.MlflowClient(tracking_uri=address)
    (run,) = client.search_runs(["0"])
    assert run.data.params["solver"] == "dlightsb"
    losses = client.get_metric_history(run.info.run_id, "loss")
    assert [metric.step for metric in losses] == [100, 200, 300, 400, 500]
