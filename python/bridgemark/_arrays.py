"""Arrays of other libraries: read through DLPack, answered in the same library and device.

Arrays in the memory of the first GPU are worked on there where the native code can; what it cannot
do there is done on the host, with a copy there and the result back. JAX rounds float64 results to
float32 unless jax_enable_x64 is set.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

_HOST = (1, 0)  # kDLCPU, device 0
_FIRST_GPU = (2, 0)  # kDLCUDA, device 0

# What libraries raise for a request of the DLPack protocol that they do not know or cannot serve.
_REFUSALS = (TypeError, BufferError, NotImplementedError, RuntimeError, ValueError, AttributeError)


class _HostCopy:
    """An array of another device that exports a copy of itself on the host."""

    def __init__(self, array: Any):
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return _HOST

    def __dlpack__(self, **_: Any) -> Any:
        return self._array.__dlpack__(dl_device=_HOST, copy=True)


def _is_foreign(array: Any) -> bool:
    return hasattr(array, "__dlpack__") and not isinstance(array, (np.ndarray, np.generic))


def _is_on_host(array: Any) -> bool:
    return int(array.__dlpack_device__()[0]) == _HOST[0]


def _module(array: Any) -> Any:
    """The top module that the array's type belongs to."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def _library(array: Any) -> Any:
    """The module with from_dlpack that the array belongs to."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return _module(array)


def _describe(array: Any) -> str:
    kind = type(array)
    return f"{kind.__module__}.{kind.__qualname__} on {getattr(array, 'device', 'its device')}"


def _copy_to_host(array: Any) -> np.ndarray:
    try:
        return np.from_dlpack(_HostCopy(array))
    except _REFUSALS:  # the library's own copy: .cpu() of torch, .get() of CuPy
        for method in ("cpu", "get"):
            if callable(getattr(array, method, None)):
                return to_numpy(getattr(array, method)())
        return np.asarray(array)


def to_numpy(array: Any, name: str = "array") -> np.ndarray:
    """The array on the host. Raises ValueError that names it where that cannot be."""
    if not _is_foreign(array):
        try:
            return np.asarray(array)
        except ValueError as error:
            raise ValueError(
                f"[python] {name} must be an array whose rows are all of one length: {error}"
            ) from error
    try:
        return np.from_dlpack(array) if _is_on_host(array) else _copy_to_host(array)
    except _REFUSALS as error:
        raise ValueError(
            f"[python] {name} must be readable through DLPack, got {_describe(array)}: {error}"
        ) from error


def _copy_to_device(library: Any, device: Any, result: np.ndarray) -> Any:
    try:
        return library.from_dlpack(result, device=device)
    except _REFUSALS:
        pass
    if hasattr(device, "__enter__"):  # CuPy: the current device takes new arrays
        with device:
            return library.asarray(result)
    on_host = library.from_dlpack(result)
    return on_host.to(device) if hasattr(on_host, "to") else library.asarray(result, device=device)


def like(array: Any, result: np.ndarray) -> Any:
    """The result in the library and on the device of the array; NumPy stays NumPy."""
    if not _is_foreign(array):
        return result
    try:
        library = _library(array)
        if _is_on_host(array):
            return library.from_dlpack(result)
        return _copy_to_device(library, array.device, result)
    except (KeyError, *_REFUSALS) as error:
        raise ValueError(
            f"[python] a result cannot follow {_describe(array)}: pass a NumPy array ({error})"
        ) from error


def is_on_first_gpu(array: Any) -> bool:
    """Whether the array lies in the memory of CUDA's first device."""
    if not _is_foreign(array):
        return False
    kind, number = array.__dlpack_device__()
    return (int(kind), int(number)) == _FIRST_GPU


def current_stream(array: Any) -> int:
    """The stream that the array's library launches on; CUDA's default where it does not say."""
    cuda: Any = getattr(_module(array), "cuda", None)
    if hasattr(cuda, "current_stream"):  # torch
        return int(cuda.current_stream(array.device).cuda_stream)
    if hasattr(cuda, "get_current_stream"):  # CuPy
        return int(cuda.get_current_stream().ptr)
    return 0


def contiguous(array: Any) -> Any:
    """The array with its rows one behind the other."""
    if hasattr(array, "contiguous"):  # torch
        return array.contiguous()
    library = _library(array)
    return library.ascontiguousarray(array) if hasattr(library, "ascontiguousarray") else array


def empty_like(array: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """A new array beside the given one; None where the library's arrays cannot be written to."""
    library = _module(array)
    if hasattr(array, "new_empty"):  # torch
        return array.new_empty(shape, dtype=getattr(library, dtype))
    if hasattr(library, "cuda") and hasattr(library, "empty"):  # CuPy
        with array.device:
            return library.empty(shape, dtype=dtype)
    return None


class _Exported:
    """Memory of the native code on the first GPU, as DLPack wants it."""

    def __init__(self, capsule: Any):
        self._capsule = capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _FIRST_GPU

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule


def adopt(array: Any, capsule: Any) -> Any:
    """Memory of the native code as an array of the given one's library."""
    return _library(array).from_dlpack(_Exported(capsule))


def steps_last(states: Any) -> Any:
    """[steps, B, D] seen as [B, steps, D]."""
    return states.swapaxes(0, 1)
