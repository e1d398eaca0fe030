"""Schrödinger bridges of torch networks: the operations of a reference, on the tensors' device.

Needs torch (`pip install bridgemark[torch]`), which `import bridgemark` alone does not.
"""

from .reference import Reference

__all__ = ["Reference"]
