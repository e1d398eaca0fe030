"""Networks to start from: states x [B,D] and steps n [B] to logits [B,D,S] of the clean end.

Each remembers its arguments as `settings`, so that `bridgemark.torch.load` makes it again. Beside
them is a potential for CNOT, which no fitted model has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


class MLP(nn.Module):
    """Dense layers with ReLU on all coordinates at once: the network of the library's own CSBM.

    A category enters by an embedding of `embedding` numbers, the step by one of D.
    """

    def __init__(
        self,
        dim: int,
        num_categories: int,
        num_steps: int,
        hidden: Sequence[int] = (128, 128, 128),
        embedding: int = 8,
    ):
        super().__init__()
        self.settings = {
            "dim": dim,
            "num_categories": num_categories,
            "num_steps": num_steps,
            "hidden": list(hidden),
            "embedding": embedding,
        }
        self.shape = (dim, num_categories)
        self.categories = nn.Embedding(num_categories, embedding)
        self.steps = nn.Embedding(num_steps, dim)
        widths = [dim * (embedding + 1), *hidden]
        layers: list[nn.Module] = []
        for inputs, outputs in zip(widths, widths[1:]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(widths[-1], dim * num_categories))

    def forward(self, x: Tensor, n: Tensor) -> Tensor:
        """Logits [B,D,S]."""
        inputs = torch.cat((self.categories(x).flatten(1), self.steps(n)), 1)
        logits: Tensor = self.layers(inputs)
        return logits.view(-1, *self.shape)


class Potential(nn.Module):
    """A number for a state, the potential of CNOT: dense layers over an embedding of x [B,D].

    `embed(x)` gives [B,D,embedding], and the potential itself takes that, so that its gradient can
    be asked for between two states.
    """

    def __init__(
        self,
        dim: int,
        num_categories: int,
        hidden: Sequence[int] = (64, 64, 64, 64),
        embedding: int = 64,
    ):
        super().__init__()
        self.embed = nn.Embedding(num_categories, embedding)
        widths = [dim * embedding, *hidden]
        layers: list[nn.Module] = []
        for inputs, outputs in zip(widths, widths[1:]):
            layers += [nn.Linear(inputs, outputs), nn.LeakyReLU(0.2)]
        self.layers = nn.Sequential(*layers, nn.Linear(widths[-1], 1))

    def forward(self, embedded: Tensor) -> Tensor:
        """One number for each row [B]."""
        values: Tensor = self.layers(embedded.flatten(1))
        return values.squeeze(1)


class Convolution(nn.Module):
    """Residual convolutions along the coordinates, for states whose neighbours belong together.

    Block i looks `dilation` 2^i apart, up to D; the step shifts the channels of every block.
    """

    def __init__(
        self,
        dim: int,
        num_categories: int,
        num_steps: int,
        width: int = 128,
        blocks: int = 6,
        kernel: int = 5,
    ):
        super().__init__()
        self.settings = {
            "dim": dim,
            "num_categories": num_categories,
            "num_steps": num_steps,
            "width": width,
            "blocks": blocks,
            "kernel": kernel,
        }
        self.categories = nn.Embedding(num_categories, width)
        self.places = nn.Parameter(0.02 * torch.randn(dim, width))
        self.steps = nn.Embedding(num_steps, blocks * width)
        self.blocks = nn.ModuleList(
            _ConvolutionBlock(width, kernel, min(2**i, max(1, dim // kernel)))
            for i in range(blocks)
        )
        self.out = nn.Conv1d(width, num_categories, 1)

    def forward(self, x: Tensor, n: Tensor) -> Tensor:
        """Logits [B,D,S]."""
        h = (self.categories(x) + self.places).transpose(1, 2)  # [B,width,D]
        shifts = self.steps(n).view(len(x), len(self.blocks), -1, 1)
        for i, block in enumerate(self.blocks):
            h = block(h + shifts[:, i])
        logits: Tensor = self.out(h)
        return logits.transpose(1, 2)


class _ConvolutionBlock(nn.Module):
    """h + a gated pair of convolutions of its normalised self."""

    def __init__(self, width: int, kernel: int, dilation: int):
        super().__init__()
        padding = dilation * (kernel - 1) // 2
        self.norm = nn.GroupNorm(math.gcd(8, width), width)
        self.look = nn.Conv1d(width, 2 * width, kernel, padding=padding, dilation=dilation)
        self.mix = nn.Conv1d(width, width, 1)

    def forward(self, h: Tensor) -> Tensor:
        """The same shape."""
        value, gate = self.look(self.norm(h)).chunk(2, 1)
        return h + torch.as_tensor(self.mix(nn.functional.gelu(value) * gate.sigmoid()))


class Transformer(nn.Module):
    """A Transformer encoder over the coordinates, each a token that sees all others."""

    def __init__(
        self,
        dim: int,
        num_categories: int,
        num_steps: int,
        width: int = 256,
        layers: int = 4,
        heads: int = 4,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.settings = {
            "dim": dim,
            "num_categories": num_categories,
            "num_steps": num_steps,
            "width": width,
            "layers": layers,
            "heads": heads,
            "dropout": dropout,
        }
        self.categories = nn.Embedding(num_categories, width)
        self.places = nn.Parameter(0.02 * torch.randn(dim, width))
        self.steps = nn.Embedding(num_steps, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width,
                heads,
                dim_feedforward=4 * width,
                dropout=dropout,
                activation="gelu",
                batch_first=True,
                norm_first=True,
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, num_categories)

    def forward(self, x: Tensor, n: Tensor) -> Tensor:
        """Logits [B,D,S]."""
        h = self.categories(x) + self.places + self.steps(n).unsqueeze(1)
        for layer in self.layers:
            h = layer(h)
        logits: Tensor = self.out(self.norm(h))
        return logits


class UNet(nn.Module):
    """A U-Net for images of height x width pixels, a coordinate each, row by row.

    `widths` are the channels of its levels; each level halves the image, rounded up.
    """

    def __init__(
        self,
        height: int,
        width: int,
        num_categories: int,
        num_steps: int,
        widths: Sequence[int] = (64, 128, 256),
    ):
        super().__init__()
        self.settings = {
            "height": height,
            "width": width,
            "num_categories": num_categories,
            "num_steps": num_steps,
            "widths": list(widths),
        }
        self.image = (height, width)
        first = widths[0]
        self.categories = nn.Embedding(num_categories, first)
        self.places = nn.Parameter(0.02 * torch.randn(first, height, width))
        self.steps = nn.Sequential(
            nn.Embedding(num_steps, 4 * first), nn.Linear(4 * first, 4 * first), nn.SiLU()
        )
        pairs = list(zip(widths, widths[1:]))
        self.down = nn.ModuleList(_ImageBlock(a, a, 4 * first) for a, _ in pairs)
        self.shrink = nn.ModuleList(nn.Conv2d(a, b, 3, 2, 1) for a, b in pairs)
        self.middle = _ImageBlock(widths[-1], widths[-1], 4 * first)
        self.grow = nn.ModuleList(nn.Conv2d(b, a, 3, padding=1) for a, b in pairs)
        self.up = nn.ModuleList(_ImageBlock(2 * a, a, 4 * first) for a, _ in pairs)
        self.out = nn.Sequential(
            nn.GroupNorm(math.gcd(8, first), first), nn.SiLU(), nn.Conv2d(first, num_categories, 1)
        )

    def forward(self, x: Tensor, n: Tensor) -> Tensor:
        """Logits [B,D,S]."""
        step = self.steps(n)
        h = self.categories(x.view(-1, *self.image)).permute(0, 3, 1, 2) + self.places
        seen = []
        for block, shrink in zip(self.down, self.shrink):
            h = block(h, step)
            seen.append(h)
            h = shrink(h)
        h = self.middle(h, step)
        for block, grow, skip in list(zip(self.up, self.grow, seen))[::-1]:
            h = grow(nn.functional.interpolate(h, size=skip.shape[2:], mode="nearest"))
            h = block(torch.cat((h, skip), 1), step)
        logits: Tensor = self.out(h)
        return logits.flatten(2).transpose(1, 2)


class _ImageBlock(nn.Module):
    """Two convolutions beside a shortcut, between which the step shifts the channels."""

    def __init__(self, inputs: int, outputs: int, step_width: int):
        super().__init__()
        self.first = nn.Sequential(
            nn.GroupNorm(math.gcd(8, inputs), inputs),
            nn.SiLU(),
            nn.Conv2d(inputs, outputs, 3, padding=1),
        )
        self.shift = nn.Linear(step_width, outputs)
        self.second = nn.Sequential(
            nn.GroupNorm(math.gcd(8, outputs), outputs),
            nn.SiLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1),
        )
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, h: Tensor, step: Tensor) -> Tensor:
        """[B,outputs,height,width]."""
        inside = self.first(h) + self.shift(step)[:, :, None, None]
        return torch.as_tensor(self.shortcut(h) + self.second(inside))


_OURS: dict[str, type[nn.Module]] = {
    kind.__name__: kind for kind in (MLP, Convolution, Transformer, UNet)
}


def describe(network: nn.Module) -> dict[str, Any]:
    """Its name, and what `make` needs where it is one of these."""
    name, ours = type(network).__name__, type(network) in _OURS.values()
    return {"name": name, **(vars(network)["settings"] if ours else {})}


def make(settings: dict[str, Any], folder: Any) -> nn.Module:
    """The network that a run folder names. Raises ValueError for one of the user's own."""
    name = settings.get("name", "")
    if name not in _OURS or len(settings) == 1:
        raise ValueError(
            f"[torch] {folder} has a network of your own, {name}: give one like it, "
            "load(folder, network)"
        )
    return _OURS[name](**{k: v for k, v in settings.items() if k != "name"})
