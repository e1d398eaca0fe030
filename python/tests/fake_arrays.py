"""Array libraries that speak DLPack and nothing else, with a host and an accelerator.

`current` follows today's protocol (copies across devices on request), `old` the first one, with
methods of its own to move arrays, and `closed` cannot leave its accelerator.
"""

import sys
import types

import numpy as np

HOST, ACCELERATOR = (1, 0), (2, 0)


class Array:
    def __init__(self, values, device="cpu"):
        self.values = np.array(values)
        self.device = device

    def __dlpack_device__(self):
        return HOST if self.device == "cpu" else ACCELERATOR

    def __dlpack__(self, *, stream=None, **request):
        if self.device != "cpu":
            raise BufferError("memory of the accelerator")
        return self.values.__dlpack__()


class CurrentArray(Array):
    def __array_namespace__(self):
        return current

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if self.device != "cpu" and dl_device != HOST:
            raise BufferError("memory of the accelerator")
        return self.values.copy().__dlpack__()


class OldArray(Array):
    def __dlpack__(self, *, stream=None):
        return super().__dlpack__()

    def cpu(self):
        return OldArray(self.values)

    def to(self, device):
        return OldArray(self.values, device)


class ClosedArray(Array):
    def __array__(self, dtype=None, copy=None):
        raise TypeError("no way out")


def _library(name, array, takes_device):
    module = types.ModuleType(name)
    if takes_device:
        module.from_dlpack = lambda x, device="cpu": array(np.from_dlpack(x), device)
    else:
        module.from_dlpack = lambda x: array(np.from_dlpack(x))
    array.__module__ = name
    sys.modules[name] = module
    return module


current = _library("fake_current", CurrentArray, takes_device=True)
old = _library("fake_old", OldArray, takes_device=False)
closed = _library("fake_closed", ClosedArray, takes_device=False)
