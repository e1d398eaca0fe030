"""A reference process for torch: its draws and steps, on the device of the tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ._log_domain import log_matmul
from ._operators import (
    Dense,
    LowRank,
    Operator,
    Power,
    Uniform,
    draw,
    low_rank_operator,
    uniform_operator,
)
from ._uniform_kl import has_uniform_kl, kl_numbers, uniform_step_kl

_MOST_DENSE_BYTES = 1 << 32  # of all powers of a dense reference together
_MOST_DENSE_CATEGORIES = 4096
DEFAULT_TOTAL_STEPS = 128


class Reference:
    """The reference of a Schrödinger bridge, a chain of num_steps steps from x0 to x1.

    Made by `uniform`, `gaussian`, `matrix` or `low_rank`, or by `of(pair)`. States are integers
    [B,D] in 0..S-1, a step n is an int for all rows or a tensor [B], logits are [B,D,S] of any
    floating type. Answers are on the device of the states: log-probabilities in float64 for float64
    logits, else in float32, computed without loss for probabilities that float32 does not have.
    `generator` is a torch.Generator of that device; without one torch's own draws.

    A uniform and a low-rank reference have no table [S,S]. Others have one for each power, float64:
    S is at most 4096. `to(device)` makes the numbers on a device ahead, as torch.compile needs.
    """

    def __init__(self, kind: str, process: dict[str, Any], num_steps: int):
        """Use `uniform`, `gaussian`, `matrix`, `low_rank` or `of`."""
        self.kind = kind
        self._process = process
        self.num_categories: int = process["num_categories"]
        self.total_steps: int = process["total_steps"]
        self.gamma: float | None = process.get("gamma")
        self.num_steps = num_steps
        if num_steps < 1 or self.total_steps % num_steps:
            raise ValueError(
                f"[reference] num_steps must be a positive divisor of {self.total_steps}, "
                f"got {num_steps}"
            )
        self._operators: dict[torch.device, Operator] = {}
        self._kl_numbers: dict[torch.device, Tensor] = {}  # of a uniform reference
        self._keep(torch.device("cpu"), self._make_operator())

    @classmethod
    def uniform(
        cls,
        num_categories: int,
        gamma: float,
        *,
        num_steps: int = 16,
        total_steps: int = DEFAULT_TOTAL_STEPS,
    ) -> Reference:
        """An elementary step stays with 1 - gamma, else moves to any other category alike."""
        if not 0.0 < gamma < 1.0:
            raise ValueError(
                f"[reference] gamma of a uniform reference must lie in (0, 1), got {gamma}"
            )
        return cls("uniform", _process(num_categories, total_steps, gamma=gamma), num_steps)

    @classmethod
    def gaussian(
        cls,
        num_categories: int,
        gamma: float,
        *,
        num_steps: int = 16,
        total_steps: int = DEFAULT_TOTAL_STEPS,
    ) -> Reference:
        """A step moves by d with weight exp(-4 d^2 / (gamma (S-1))^2), normalised as in pairs."""
        if not 0.0 < gamma < math.inf:
            raise ValueError(
                "[reference] gamma of a gaussian reference must be positive and finite, "
                f"got {gamma}"
            )
        return cls("gaussian", _process(num_categories, total_steps, gamma=gamma), num_steps)

    @classmethod
    def matrix(
        cls, probabilities: Any, *, num_steps: int = 16, total_steps: int = DEFAULT_TOTAL_STEPS
    ) -> Reference:
        """probabilities [S,S] of an elementary step x -> y: positive, rows that sum to 1."""
        table = _positive("matrix", probabilities)
        if table.shape[0] != table.shape[1]:
            raise ValueError(f"[reference] matrix must be square, got {list(table.shape)}")
        table = _normalised(table)
        return cls("matrix", _process(table.shape[0], total_steps, matrix=table), num_steps)

    @classmethod
    def low_rank(
        cls,
        stay: float,
        left: Any,
        right: Any,
        *,
        num_steps: int = 16,
        total_steps: int = DEFAULT_TOTAL_STEPS,
    ) -> Reference:
        """An elementary step is stay I + (1 - stay) U V^T with left U and right V, both [S,R].

        U and V are positive, rows of U V^T sum to 1, and stay lies in [0, 1).
        """
        if not 0.0 <= stay < 1.0:
            raise ValueError(f"[reference] stay must lie in [0, 1), got {stay}")
        u, v = _positive("left", left), _positive("right", right)
        if u.shape != v.shape:
            raise ValueError(
                "[reference] left and right must have one shape [S,R], "
                f"got {list(u.shape)} and {list(v.shape)}"
            )
        sums = u @ v.sum(0)
        _require_sums(sums)
        process = _process(
            u.shape[0], total_steps, stay=float(stay), left=u / sums[:, None], right=v
        )
        return cls("low-rank", process, num_steps)

    @classmethod
    def of(cls, reference: Any, num_steps: int | None = None) -> Reference:
        """Of a pair, of `pair.reference` or a Reference itself, with num_steps (of a pair 16)."""
        if isinstance(reference, Reference):
            return reference if num_steps is None else reference.with_steps(num_steps)
        named = getattr(reference, "reference", reference)
        if not hasattr(named, "parts"):
            raise TypeError(
                "[reference] reference must be a Reference, a pair or pair.reference, "
                f"got {type(reference).__name__}"
            )
        if named in ("birth-death", "absorbing", "graph"):
            raise ValueError(
                "[reference] reference must be gaussian, uniform, a matrix or of low rank, got "
                f"{named}, whose steps have probabilities of 0"
            )
        parts = named.parts()
        size, total = parts["num_categories"], parts["total_steps"]
        steps = 16 if num_steps is None else num_steps
        kinds = {"uniform": cls.uniform, "gaussian": cls.gaussian}
        if parts["reference"] is None or not isinstance(parts["reference"], str):
            return cls.matrix(parts["reference"], num_steps=steps, total_steps=total)
        make = kinds[parts["reference"]]
        return make(size, parts["gamma"], num_steps=steps, total_steps=total)

    def with_steps(self, num_steps: int) -> Reference:
        """The same process seen at num_steps + 1 times; num_steps divides total_steps."""
        if num_steps == self.num_steps:
            return self
        return Reference(self.kind, self._process, num_steps)

    def reversed(self) -> Reference:
        """The process seen backwards in time; a symmetric one is its own."""
        if self.kind == "matrix":
            turned = _reversed_matrix(self._process["matrix"])
            process = {**self._process, "matrix": turned}
        elif self.kind == "low-rank":
            u, v = self._process["left"], self._process["right"]
            weights = torch.full((1, u.shape[1]), 1.0 / u.shape[1], dtype=torch.float64)
            for _ in range(1000):
                weights = weights @ (v.T @ u)
                weights = weights / (weights @ v.sum(0))
            stationary = (weights @ v.T).T  # [S,1]
            process = {**self._process, "left": v / stationary, "right": u * stationary}
        else:
            return self
        return Reference(self.kind, process, self.num_steps)

    def to(self, device: torch.device | str) -> Reference:
        """Make the numbers on the device now; returns the reference itself."""
        self._on(torch.empty(0, device=device).device)
        return self

    def log_prob(self, x0: Tensor, x1: Tensor, n: Power | None = None) -> Tensor:
        """log q_ref(x_n = x1 | x_0 = x0), float64, of each coordinate; n is num_steps without it.

        x0 and x1 broadcast against each other; an n [B] goes with their first dimension.
        """
        shape = np.broadcast_shapes(tuple(x0.shape), tuple(x1.shape))
        x0, x1 = x0.long().expand(shape), x1.long().expand(shape)
        k = self._power(n, 0, self.num_steps) if n is not None else self.num_steps
        return self._on(x0.device).log_entries(k, x0, x1)

    def sample(self, x0: Tensor, n: Power, generator: torch.Generator | None = None) -> Tensor:
        """Draw x_n given x_0 = x0: int64 [B,D]."""
        k = self._power(n, 0, self.num_steps)
        return draw(self._on(x0.device).log_rows(k, x0.long()), generator)

    def pinned_sample(
        self, x0: Tensor, x1: Tensor, n: Power, generator: torch.Generator | None = None
    ) -> Tensor:
        """Draw x_n ~ q_ref(x_n | x_0 = x0, x_num_steps = x1): int64 [B,D], n in 0..num_steps."""
        k = self._power(n, 0, self.num_steps)
        rest = self.num_steps - k
        return self._on(x0.device).draw_between(k, rest, x0.long(), x1.long(), generator)

    def pinned_step(self, x: Tensor, n: Power, x1: Tensor) -> Tensor:
        """log q_ref(x_{n+1} = s | x_n = x, x_num_steps = x1): float64 [B,D,S]."""
        operator, rest = self._on(x.device), self._rest(n)
        law = operator.log_rows(1, x.long()) + operator.log_columns(rest, x1.long())
        return law.log_softmax(-1)

    def clean_end(self, x: Tensor, n: Power, logits: Tensor) -> Tensor:
        """log-probabilities [B,D,S] of x1 given x_n = x that the logits of a `step` stand for.

        normalise(softmax(logits)[c] Q_(num_steps-n)[x,c]): what a network that guesses x1 is
        trained on.
        """
        operator = self._on(x.device)
        with full_precision(x):
            values = logits.to(operator.work_type(logits.dtype))
            law = values + operator.log_rows(self._rest(n) + 1, x.long())
            return law.log_softmax(-1).to(answer_type(logits))

    def step(self, x: Tensor, n: Power, logits: Tensor) -> Tensor:
        """log-probabilities [B,D,S] of x_{n+1} given x_n = x and logits of its clean end x1.

        normalise(Q_1[x,s] sum_c Q_rest[s,c] softmax(logits)[c]), rest = num_steps - n - 1: one
        product with the reference. Differentiable in the logits.
        """
        operator = self._on(x.device)
        with full_precision(x):
            log_p = logits.to(operator.work_type(logits.dtype)).log_softmax(-1)
            return operator.log_step(x.long(), self._rest(n), log_p).to(answer_type(logits))

    def transition_sample(
        self, x: Tensor, n: Power, logits: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Draw x_{n+1} by `step`, coordinates independent of each other: int64 [B,D]."""
        with torch.no_grad():
            return draw(self.step(x, n, logits), generator)

    def step_kl(self, x: Tensor, n: Power, logits: Tensor, x1: Tensor) -> Tensor:
        """KL(q_ref(x_{n+1} | x_n = x, x1) || step(x, n, logits)) of each coordinate: [B,D].

        The loss of bridge matching; differentiable in the logits. Of a uniform reference it is
        computed from the logits at once, by one kernel on a GPU.
        """
        operator, rest = self._on(x.device), self._rest(n)
        x, x1 = x.long(), x1.long()
        with full_precision(x):
            if isinstance(operator, Uniform) and x.device in self._kl_numbers:
                table = self._kl_numbers[x.device]
                return uniform_step_kl(operator, table, x, rest, logits, x1)
            target = self.pinned_step(x, n, x1)
            log_m = self.step(x, n, logits.to(operator.work_type(logits.dtype)))
            terms = target.exp() * (target - log_m)
            kl = terms.masked_fill(target == -torch.inf, 0.0).sum(-1)
            return kl.to(answer_type(logits))

    def __repr__(self) -> str:
        gamma = "" if self.gamma is None else f", gamma={self.gamma}"
        return (
            f"<bridgemark.torch.Reference {self.kind}: {self.num_categories} categories{gamma}, "
            f"{self.num_steps} of {self.total_steps} steps>"
        )

    def describe(self) -> dict[str, Any]:
        """What makes it again: kind, its numbers, steps; arrays as tensors."""
        return {"kind": self.kind, "num_steps": self.num_steps, **self._process}

    def _on(self, device: torch.device) -> Operator:
        operator = self._operators.get(device)
        if operator is None:
            operator = self._operators[torch.device("cpu")].to(device)
            self._keep(device, operator)
        return operator

    def _keep(self, device: torch.device, operator: Operator) -> None:
        self._operators[device] = operator
        if isinstance(operator, Uniform) and has_uniform_kl(operator):
            self._kl_numbers[device] = kl_numbers(operator)

    def _power(self, n: Power, least: int, most: int) -> Power:
        if isinstance(n, Tensor):
            return n.long()
        if not least <= n <= most:
            raise ValueError(f"[reference] n must lie in {least}..{most}, got {n}")
        return int(n)

    def _rest(self, n: Power) -> Power:
        return self.num_steps - 1 - self._power(n, 0, self.num_steps - 1)

    def _make_operator(self) -> Operator:
        skip = self.total_steps // self.num_steps
        process, steps = self._process, self.num_steps
        if self.kind == "uniform":
            assert self.gamma is not None
            return uniform_operator(self.num_categories, self.gamma, skip, steps)
        if self.kind == "low-rank":
            return _low_rank(process, skip, steps)
        size = self.num_categories
        if size > _MOST_DENSE_CATEGORIES or 8 * size * size * (steps + 1) > _MOST_DENSE_BYTES:
            raise ValueError(
                f"[reference] num_categories of a {self.kind} reference must be at most "
                f"{_MOST_DENSE_CATEGORIES}, and its num_steps tables at most 4 GiB, got "
                f"{size} with {steps} steps; a uniform or low-rank reference has no tables"
            )
        return Dense(log_powers(self._log_elementary(), skip, steps))

    def _log_elementary(self) -> Tensor:
        """log of the elementary matrix of a reference with tables."""
        if self.kind == "matrix":
            matrix: Tensor = self._process["matrix"]
            return matrix.log()
        assert self.gamma is not None
        return _log_gaussian_step(self.num_categories, self.gamma)


def answer_type(logits: Tensor) -> torch.dtype:
    """Of what is computed from logits."""
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def full_precision(like: Tensor) -> Any:
    """Mixed precision is for networks: sums over categories would lose their small terms in it."""
    return torch.autocast(like.device.type, enabled=False)


def _process(num_categories: int, total_steps: int, **others: Any) -> dict[str, Any]:
    if num_categories < 2:
        raise ValueError(f"[reference] num_categories must be at least 2, got {num_categories}")
    if total_steps < 1:
        raise ValueError(f"[reference] total_steps must be at least 1, got {total_steps}")
    return {"num_categories": int(num_categories), "total_steps": int(total_steps), **others}


def _low_rank(process: dict[str, Any], skip: int, num_steps: int) -> LowRank:
    parts = (process["stay"], process["left"], process["right"])
    return low_rank_operator(*parts, skip, num_steps)


def _positive(name: str, values: Any) -> Tensor:
    given = (
        values.detach().cpu() if isinstance(values, Tensor) else torch.as_tensor(np.array(values))
    )
    table = given.to(torch.float64)
    if table.dim() != 2:
        raise ValueError(f"[reference] {name} must be a matrix, got shape {list(table.shape)}")
    wrong = ~(table > 0.0) | torch.isinf(table)
    if bool(wrong.any()):
        row, column = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"[reference] {name} must be positive and finite, got {float(table[row, column])} "
            f"at [{row}, {column}]"
        )
    return table


def _require_sums(sums: Tensor) -> None:
    wrong = (sums - 1.0).abs() > 1e-6
    if bool(wrong.any()):
        row = int(wrong.nonzero()[0])
        raise ValueError(
            f"[reference] each row of a step must sum to 1, got {float(sums[row])} for row {row}"
        )


def _normalised(table: Tensor) -> Tensor:
    sums = table.sum(1)
    _require_sums(sums)
    return table / sums[:, None]


def _log_gaussian_step(size: int, gamma: float) -> Tensor:
    """log of the elementary matrix; its diagonal takes what a row's moves leave."""
    width = gamma * (size - 1.0)
    states = torch.arange(size, dtype=torch.float64)
    log_weight = -4.0 * (states / width).square()
    log = log_weight[(states[:, None] - states).abs().long()]
    log = log - torch.log1p(2.0 * log_weight[1:].exp().sum())
    moved = log.exp().fill_diagonal_(0.0).sum(1)
    log.diagonal().copy_(torch.log1p(-moved))
    return log


def log_powers(step: Tensor, skip: int, count: int) -> list[Tensor]:
    """log of the powers skip, 2 skip, .. of a matrix."""
    one, square, left = None, step, skip
    while left:
        if left & 1:
            one = square if one is None else log_matmul(one, square)
        left >>= 1
        if left:
            square = log_matmul(square, square)
    assert one is not None
    powers = [one]
    for k in range(2, count + 1):
        powers.append(log_matmul(powers[k // 2 - 1], powers[k - k // 2 - 1]))
    return powers


def _reversed_matrix(matrix: Tensor) -> Tensor:
    """probability of x_from given x_to under the law that a step leaves as it is."""
    power = matrix
    for _ in range(64):
        power = power @ power
        power = power / power.sum(1, keepdim=True)
        if bool((power - power[0]).abs().max() < 1e-15):
            break
    turned = power[0] * matrix.T / power[0][:, None]
    return _normalised(turned)
