"""The safetensors format by its definition: 8 bytes of length, a JSON header, the data."""

import json

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}


def read(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        values = np.frombuffer(data[8 + length + first : 8 + length + last], DTYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"])
    return tensors, metadata


def write(path, tensors):
    names = {dtype: name for name, dtype in DTYPES.items()}
    header, data = {}, b""
    for name, values in tensors.items():
        first, data = len(data), data + values.tobytes()
        header[name] = {
            "dtype": names[values.dtype.str],
            "shape": values.shape,
            "data_offsets": [first, len(data)],
        }
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
