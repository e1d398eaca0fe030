"""Seeds of draws: a pure function of the training's seed, what is drawn, and which one it is."""

from __future__ import annotations

import hashlib

import torch


def derive_seed(seed: int, purpose: str, *details: int) -> int:
    """Of 62 bits; no two purposes share draws."""
    text = ":".join((str(seed), purpose, *map(str, details)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 2


def make_generator(device: torch.device, seed: int, purpose: str, *details: int) -> torch.Generator:
    """A torch.Generator on the device with a seed of its own."""
    return torch.Generator(device).manual_seed(derive_seed(seed, purpose, *details))


def seed_networks(device: torch.device, seed: int) -> None:
    """torch's own draws, as dropout makes them, on the CPU and this device."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
