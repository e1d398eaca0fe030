"""What a training tells while it goes on: callbacks, event files, scores against the truth."""

import json
import struct

import numpy as np
import pytest

import bridgemark as bm

SMALL = {"updates": 40, "components": 6, "batch_size": 16, "log_every": 10, "source": "none"}


def log_of(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_on_log_gets_each_line_as_it_is_written(pair, tmp_path):
    told = []

    def on_log(line):
        told.append(line)
        assert told == log_of(tmp_path / "run")

    bm.DLightSB(**SMALL).fit(pair, folder=tmp_path / "run", on_log=on_log)
    assert [line["update"] for line in told] == [10, 20, 30, 40]
    assert all(type(line) is dict for line in told)
    assert {key: type(value) for key, value in told[0].items()} == {
        "update": int,
        "loss": float,
        "seconds": float,
    }


def test_on_log_works_without_a_folder_and_on_data(pair):
    told = []
    x0, x1 = pair.sample_x0(100, seed=1), pair.sample_x1(100, seed=2)
    solver = bm.DLightSB(**SMALL).fit(x0, x1, reference=pair.reference, on_log=told.append)
    assert [line["update"] for line in told] == solver.history["update"].tolist()
    assert told[-1]["refit"] is True and told[-1]["components"] == 6


@pytest.mark.parametrize("raised", [ZeroDivisionError("told"), KeyboardInterrupt()])
def test_what_on_log_raises_ends_the_training(pair, tmp_path, raised):
    whole = bm.DLightSB(**SMALL).fit(pair)
    told = []

    def on_log(line):
        told.append(line["update"])
        if line["update"] == 20:
            raise raised

    solver = bm.DLightSB(**SMALL)
    with pytest.raises(type(raised)) as caught:
        solver.fit(pair, folder=tmp_path / "run", on_log=on_log)
    assert caught.value is raised
    assert told == [10, 20]
    assert not (tmp_path / "run" / "result.json").exists()
    solver.fit(pair, folder=tmp_path / "run", on_log=lambda line: told.append(line["update"]),
               resume=True)  # fmt: skip
    assert told == [10, 20, 30, 40]
    assert solver.coupling.diagnostics["resumed_from"] == 20
    x0 = pair.sample_x0(200, seed=1)
    assert np.array_equal(solver.sample(x0, seed=2), whole.sample(x0, seed=2))
    # Without a folder nothing is left, and the solver has no coupling.
    other = bm.DLightSB(**SMALL)
    with pytest.raises(type(raised)):
        other.fit(pair, on_log=on_log)
    with pytest.raises(RuntimeError, match="must be fitted first"):
        other.coupling  # noqa: B018


def test_what_on_log_raises_at_the_end_loses_nothing(pair, tmp_path):
    def on_log(line):
        if line["update"] == 40:
            raise ValueError("at the end")

    with pytest.raises(ValueError, match="at the end"):
        bm.DLightSB(**SMALL).fit(pair, folder=tmp_path / "run", on_log=on_log)
    solver = bm.DLightSB(**SMALL).fit(pair, folder=tmp_path / "run", resume=True)
    assert solver.coupling.diagnostics["updates"] == 40
    assert solver.history["update"].tolist() == [10, 20, 30, 40]


def test_arguments_are_refused_by_their_names(pair, tmp_path):
    with pytest.raises(TypeError, match="on_log must be a callable, got int"):
        bm.DLightSB(**SMALL).fit(pair, on_log=3)
    with pytest.raises(TypeError, match="tensorboard must be a str or os.PathLike, got bool"):
        bm.DLightSB(**SMALL).fit(pair, tensorboard=True)
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        bm.DLightSB(**SMALL).fit(pair, tensorboard=tmp_path / "file")


def records(path):
    """The bytes of each record of an event file."""
    text, at = path.read_bytes(), 0
    while at < len(text):
        (length,) = struct.unpack_from("<Q", text, at)
        yield text[at + 12 : at + 12 + length]
        at += length + 16


def test_tensorboard_gets_an_event_file_a_start(pair, tmp_path):
    folder = tmp_path / "events"
    bm.DLightSB(**SMALL).fit(pair, tensorboard=folder)
    (file,) = folder.iterdir()
    found = list(records(file))
    assert len(found) == 2 + 4 and b"brain.Event:2" in found[0]
    assert all(b"loss" in record and b"seconds" in record for record in found[2:])
    bm.DLightSB(**SMALL).fit(pair, tensorboard=str(folder))
    assert len(list(folder.iterdir())) == 2


def test_validation_is_told_everywhere_and_changes_nothing(pair):
    told = []
    plain = bm.DLightSB(**SMALL).fit(pair)
    scored = bm.DLightSB(**SMALL).fit(pair, validate_every=20, on_log=told.append)
    assert [line["update"] for line in told if "joint_kl" in line] == [20, 40]
    history = scored.history
    assert np.isnan(history["joint_kl"]).tolist() == [True, False, True, False]
    assert history["joint_kl"][-1] == told[-1]["joint_kl"]
    x0 = pair.sample_x0(200, seed=1)
    assert np.array_equal(scored.sample(x0, seed=2), plain.sample(x0, seed=2))
    with pytest.raises(ValueError, match="validate_every.*must be 0 for data"):
        bm.DLightSB(**SMALL).fit(x0, pair.sample_x1(100), validate_every=20)
    rows = bm.DLightSB(**SMALL).fit(pair, samples=100, validate_every=20)
    assert np.isfinite(rows.history["joint_kl"][-1])
