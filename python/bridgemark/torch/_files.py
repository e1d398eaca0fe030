"""Files of a run folder: config.toml, tensors, checkpoints; each appears whole or not at all."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

_TYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_MOST_HEADER = 100_000_000


def write_atomically(path: Path, content: bytes) -> None:
    """Writes beside it, flushes to the disk and renames."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def config_text(sections: dict[str, dict[str, Any]]) -> str:
    """TOML with the keys of "" first; values as in JSON, which TOML shares, None left out."""
    lines = []
    for name, values in sections.items():
        if name:
            lines += ["", f"[{name}]"]
        lines += [f"{k} = {json.dumps(v)}" for k, v in values.items() if v is not None]
    return "\n".join(lines) + "\n"


def read_config(path: Path) -> dict[str, dict[str, Any]]:
    """What config_text wrote. Raises OSError where there is none, ValueError for another file."""
    sections: dict[str, dict[str, Any]] = {"": {}}
    section = sections[""]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
            continue
        key, equals, value = line.partition(" = ")
        if not line:
            continue
        try:
            section[key] = json.loads(value)
        except ValueError:
            raise ValueError(
                f"{path}: line {number} is none of bridgemark.torch: {line!r}"
            ) from None
    return sections


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """A safetensors file."""
    names = {kind: name for name, kind in _TYPES.items()}
    header, parts, at = {}, [], 0
    for name, tensor in tensors.items():
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        content = flat.view(torch.uint8).numpy().tobytes()
        header[name] = {
            "dtype": names[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + len(content)],
        }
        parts.append(content)
        at += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    write_atomically(path, b"".join((struct.pack("<Q", len(text)), text, *parts)))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file. Raises ValueError where it is none."""
    content = path.read_bytes()
    try:
        (length,) = struct.unpack("<Q", content[:8])
        if length > min(_MOST_HEADER, len(content) - 8):
            raise ValueError(f"a header of {length} bytes")
        header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
        header.pop("__metadata__", None)
        return {name: _read_tensor(entry, data) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise ValueError(f"{path}: is no whole safetensors file: {error}") from None


def _read_tensor(entry: dict[str, Any], data: bytes) -> Tensor:
    kind, shape = _TYPES[entry["dtype"]], entry["shape"]
    first, last = entry["data_offsets"]
    size = math.prod(shape) * torch.empty(0, dtype=kind).element_size()
    if not 0 <= first <= last <= len(data) or last - first != size:
        raise ValueError(f"a tensor {shape} of {entry['dtype']} at bytes {first} to {last}")
    if size == 0:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(bytearray(data[first:last]), dtype=kind).reshape(shape)


class Checkpoint:
    """The whole training state in a file of torch, read without running what it may hold."""

    def __init__(self, folder: Path):
        self.path = folder / "checkpoint.pt"
        self._log = folder / "log.jsonl"

    def exists(self) -> bool:
        """Whether a training left one."""
        return self.path.exists()

    def write(self, state: dict[str, Any]) -> None:
        """The state, and its lines as log.jsonl."""
        buffer = io.BytesIO()
        torch.save(_floats_as_text(state), buffer)
        write_atomically(self.path, buffer.getvalue())
        lines = "".join(json.dumps(line) + "\n" for line in state["history"])
        write_atomically(self._log, lines.encode())

    def read(self, device: torch.device) -> dict[str, Any]:
        """What was written, on the device."""
        state = torch.load(self.path, map_location=device, weights_only=True)
        read: dict[str, Any] = _text_as_floats(state)
        return read


# Told to run no code, torch 1 reads no float: ("float", hexadecimal) stands for it.
def _floats_as_text(value: Any) -> Any:
    if isinstance(value, float):
        return ("float", value.hex())
    return _each(_floats_as_text, value)


def _text_as_floats(value: Any) -> Any:
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "float":
        return float.fromhex(value[1])
    return _each(_text_as_floats, value)


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    """The value with everything in it changed."""
    if isinstance(value, dict):
        return {key: change(inside) for key, inside in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(change(inside) for inside in value)
    return value


class StopRequest:
    """Ctrl-C between two updates: the first ends the training there, a second one at once."""

    def __init__(self, keeps: bool):
        self.asked = False
        self._before: Any = None
        main = threading.current_thread() is threading.main_thread()
        self._listens = keeps and main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN

    def __enter__(self) -> StopRequest:
        if self._listens:
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._listens:
            signal.signal(signal.SIGINT, self._before)

    def raise_if_asked(self) -> None:
        """KeyboardInterrupt, once the state is kept."""
        if self.asked:
            raise KeyboardInterrupt

    def _ask(self, number: int, frame: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
