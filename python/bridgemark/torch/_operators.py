"""What is asked of a reference, on one device: rows, columns and entries of powers, and products.

States are int64. A power k counts steps of the chain, 0..num_steps, for each row of states [B] or
an int for all.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable

import torch
from torch import Tensor

from ._log_domain import CERTIFIED, LogApply, is_compiling

Power = int | Tensor

_MOST_STACKED = 1 << 22  # entries of all powers together that one tensor has
_MOST_GATHERED = 1 << 23  # entries of powers picked row by row


def log_add(a: Tensor, b: Tensor) -> Tensor:
    """log(exp(a) + exp(b)), whose gradient is finite for two log 0 as well."""
    none = (a == -torch.inf) & (b == -torch.inf)
    sums = torch.logaddexp(a.masked_fill(none, 0.0), b.masked_fill(none, 0.0))
    return torch.where(none, a, sums)


def draw(log_p: Tensor, generator: torch.Generator | None) -> Tensor:
    """A category of each row of log-probabilities [..,S], which need not be normalised."""
    noise = torch.empty_like(log_p, memory_format=torch.contiguous_format)
    noise.exponential_(generator=generator)
    return (log_p - noise.log()).argmax(-1)


def spread_over(k: Tensor, like: Tensor) -> Tensor:
    """Numbers [B], or one for all, beside states [B,D] or rows [B,D,S]."""
    return k.view(-1, *[1] * (like.dim() - 1))


def ends_unlike_and_alike(n: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """States x0 and x1 [N,2] beside numbers [N], two that differ and two that do not, and which:
    all that the pinned chain of a uniform reference depends on, beside n."""
    x1 = torch.tensor([1, 0], device=n.device).expand(len(n), 2)
    return torch.zeros_like(x1), x1, x1 == 0


def place_of(k: Power, same: Tensor) -> Tensor:
    """Where a table of those has the numbers of steps k, of rows [B] or all, and coordinates."""
    steps = spread_over(k, same) if isinstance(k, Tensor) else k
    return same.to(torch.int64) + 2 * steps


class Operator(abc.ABC):
    """The chain of a reference. States are [B,D], rows [B,D,S]."""

    num_categories: int

    @abc.abstractmethod
    def to(self, device: torch.device) -> Operator:
        """The same on a device."""

    @abc.abstractmethod
    def work_type(self, values: torch.dtype) -> torch.dtype:
        """What is computed in, for values of this type."""

    @abc.abstractmethod
    def log_entries(self, k: Power, x: Tensor, y: Tensor) -> Tensor:
        """log Q_k[x,y], states of one shape [B,..]."""

    @abc.abstractmethod
    def log_rows(self, k: Power, x: Tensor) -> Tensor:
        """log Q_k[x,:]."""

    @abc.abstractmethod
    def log_columns(self, k: Power, y: Tensor) -> Tensor:
        """log Q_k[:,y]."""

    @abc.abstractmethod
    def log_product(self, k: Power, log_p: Tensor) -> Tensor:
        """log sum_c Q_k[s,c] p[c] of probabilities p."""

    def log_step(self, x: Tensor, rest: Power, log_p: Tensor) -> Tensor:
        """The law of a step from x, normalised: Q_1[x,s] sum_c Q_rest[s,c] p[c]."""
        return (self.log_rows(1, x) + self.log_product(rest, log_p)).log_softmax(-1)

    def draw_between(
        self, before: Power, after: Power, x0: Tensor, x1: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """States drawn with probabilities in proportion to Q_before[x0,s] Q_after[s,x1].

        Before and after are the whole chain together.
        """
        return draw(self.log_rows(before, x0) + self.log_columns(after, x1), generator)


class Uniform(Operator):
    """Q_k = identity I + off_diagonal 11^T, in numbers alone: no table of any size."""

    def __init__(self, num_categories: int, log: Tensor, negative: Tensor):
        """log is [4, num_steps+1] of float64: |identity|, off_diagonal, diagonal."""
        self.num_categories = num_categories
        self.log_identity, self.log_off, self.log_diagonal = log
        self.negative = negative  # powers whose identity part is: gamma above 1 - 1/S
        self.has_negative = bool(negative.any())
        self.least_log_off = float(self.log_off[1:].min())
        self._pinned = self._pinned_shares()

    def to(self, device: torch.device) -> Uniform:
        log = torch.stack((self.log_identity, self.log_off, self.log_diagonal))
        return Uniform(self.num_categories, log.to(device), self.negative.to(device))

    def work_type(self, values: torch.dtype) -> torch.dtype:
        return torch.float64 if values == torch.float64 else torch.float32

    def suits_linear_sums(self, least_log_off: float) -> bool:
        """Whether no identity part is negative and no move is rarer than that."""
        return not self.has_negative and self.least_log_off > least_log_off

    def log_entries(self, k: Power, x: Tensor, y: Tensor) -> Tensor:
        same = spread_over(self.log_diagonal[k], x)
        return torch.where(x == y, same, spread_over(self.log_off[k], x))

    def log_rows(self, k: Power, x: Tensor) -> Tensor:
        states = torch.arange(self.num_categories, device=x.device)
        same = spread_over(self.log_diagonal[k], x).unsqueeze(-1)
        other = spread_over(self.log_off[k], x).unsqueeze(-1)
        return torch.where(x.unsqueeze(-1) == states, same, other)

    def log_columns(self, k: Power, y: Tensor) -> Tensor:
        return self.log_rows(k, y)

    def log_product(self, k: Power, log_p: Tensor) -> Tensor:
        identity = self._number(self.log_identity, k, log_p) + log_p
        off = self._number(self.log_off, k, log_p)
        positive = log_add(off.expand_as(identity), identity)
        if not self.has_negative:
            return positive
        negative = spread_over(self.negative[k], log_p)
        share = torch.where(negative, identity - off, -1.0).clamp(max=0.0)
        return torch.where(negative, off + torch.log1p(-share.exp()), positive)

    def log_step(self, x: Tensor, rest: Power, log_p: Tensor) -> Tensor:
        # sum_s Q_1[x,s] sum_c Q_rest[s,c] p[c] is an entry of Q_(rest+1) p.
        here = x.unsqueeze(-1)
        is_here = None
        if is_compiling():  # inductor of torch 2.11 errs in the gradient of a gather here
            is_here = here == torch.arange(self.num_categories, device=x.device)
            log_p_here = log_p.masked_fill(~is_here, 0.0).sum(-1, keepdim=True).double()
        else:
            log_p_here = log_p.gather(-1, here).double()
        whole = self.log_product(rest + 1, log_p_here)
        moves: Tensor = self.log_product(rest, log_p)
        moves = moves + (self.log_off[1] - whole).to(log_p.dtype)
        stays = self.log_product(rest, log_p_here) + self.log_diagonal[1] - whole
        stays = stays.to(log_p.dtype)
        if is_here is not None:
            return torch.where(is_here, stays, moves)
        return moves.scatter(-1, here, stays)

    def draw_between(
        self, before: Power, after: Power, x0: Tensor, x1: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """In O(1) a coordinate: x0, x1, or one of the others, which are alike."""
        same = x0 == x1
        shares = torch.nn.functional.embedding(place_of(before, same), self._pinned)
        others = self.num_categories - 2 + same.to(torch.int64)
        u, v = torch.rand(
            (2, *x0.shape), dtype=torch.float64, device=x0.device, generator=generator
        )
        other = torch.minimum((v * others).to(torch.int64), others - 1)
        low, high = torch.minimum(x0, x1), torch.maximum(x0, x1)
        other = other + (other >= low).to(torch.int64)  # past the two that it is not
        other = other + ((other >= high) & ~same).to(torch.int64)
        end = torch.where(u < shares[..., 1], x1, other)
        return torch.where(u < shares[..., 0], x0, end)

    def _pinned_shares(self) -> Tensor:
        """Of each n of the whole chain, for x0 unlike x1 and for x0 = x1: the probability that x_n
        is x0, and that it is one of both; [2 (num_steps + 1), 2]."""
        num_steps = len(self.log_off) - 1
        n = torch.arange(num_steps + 1, device=self.log_off.device)
        x0, x1, same = ends_unlike_and_alike(n)
        rest = num_steps - n
        log_x0 = self.log_entries(n, x0, x0) + self.log_entries(rest, x0, x1)
        log_x1 = self.log_entries(n, x0, x1) + self.log_entries(rest, x1, x1)
        others = self.num_categories - 2 + same.to(torch.float64)
        log_other = spread_over(self.log_off[n] + self.log_off[rest], x0) + others.log()
        logs = torch.stack((log_x0, log_x1.masked_fill(same, -torch.inf), log_other), -1)
        return logs.softmax(-1).cumsum(-1)[..., :2].reshape(-1, 2)

    def _number(self, numbers: Tensor, k: Power, like: Tensor) -> Tensor:
        """Of each row, in the type of the values."""
        return spread_over(numbers[k], like).to(like.dtype)


class Dense(Operator):
    """Powers [S,S] as they are, in float64: their entries may be far below what float32 has."""

    def __init__(self, tables: list[Tensor]):
        """log Q_1 .. log Q_num_steps."""
        self.num_categories = size = tables[0].shape[0]
        identity = torch.full_like(tables[0], -torch.inf).fill_diagonal_(0.0)
        self.tables = [identity, *tables]
        self.certified = all(bool((table > CERTIFIED).all()) for table in tables)
        self.stack: Tensor | None = None  # where that is small: rows then pick their powers
        if len(self.tables) * size * size <= _MOST_STACKED:
            self.stack = torch.stack(self.tables)
            self.linear = self.stack[1:].exp()

    def to(self, device: torch.device) -> Dense:
        return Dense([table.to(device) for table in self.tables[1:]])

    def work_type(self, values: torch.dtype) -> torch.dtype:
        return torch.float64

    def log_entries(self, k: Power, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(k, Tensor) and self.stack is not None:
            return self.stack[spread_over(k, x), x, y]
        return self._by_power(k, lambda power, rows: self.tables[power][x[rows], y[rows]])

    def log_rows(self, k: Power, x: Tensor) -> Tensor:
        if isinstance(k, Tensor) and self.stack is not None:
            return self.stack[spread_over(k, x), x]
        return self._by_power(k, lambda power, rows: self.tables[power][x[rows]])

    def log_columns(self, k: Power, y: Tensor) -> Tensor:
        if isinstance(k, Tensor) and self.stack is not None:
            return self.stack.transpose(1, 2)[spread_over(k, y), y]
        return self._by_power(k, lambda power, rows: self.tables[power].T[y[rows]])

    def log_product(self, k: Power, log_p: Tensor) -> Tensor:
        if isinstance(k, int):
            return self._product_of_one(k, log_p)
        if self.stack is None:
            return self._by_power(k, lambda power, rows: self._product_of_one(power, log_p[rows]))
        rows = max(1, _MOST_GATHERED // self.num_categories**2)
        table = (k - 1).clamp(min=0)
        parts = [
            LogApply.apply(  # type: ignore[no-untyped-call,unused-ignore]
                part, self.stack[1:], self.linear, index, self.certified
            )
            for part, index in zip(torch.split(log_p, rows), torch.split(table, rows))
        ]
        products = parts[0] if len(parts) == 1 else torch.cat(parts)
        return torch.where(spread_over(k, log_p) == 0, log_p, products)

    def _product_of_one(self, k: int, log_p: Tensor) -> Tensor:
        if k == 0:
            return log_p
        table = self.tables[k].unsqueeze(0)
        linear = table.exp() if self.stack is None else self.linear[k - 1 : k]
        index = torch.zeros(1, dtype=torch.int64, device=log_p.device)
        flat = log_p.reshape(1, -1, self.num_categories)
        product: Tensor = LogApply.apply(  # type: ignore[no-untyped-call,unused-ignore]
            flat, table, linear, index, self.certified
        )
        return product.view(log_p.shape)

    def _by_power(self, k: Power, compute: Callable[[int, Tensor | slice], Tensor]) -> Tensor:
        """compute(power, its rows), put together."""
        if isinstance(k, int):
            return compute(k, slice(None))
        powers = [(power, (k == power).nonzero().squeeze(1)) for power in sorted(set(k.tolist()))]
        order = torch.cat([rows for _, rows in powers]).argsort()
        return torch.cat([compute(power, rows) for power, rows in powers])[order]


class LowRank(Operator):
    """Q_k = identity_k I + U C_k V^T with positive numbers alone: O(S R) a row, no table [S,S]."""

    def __init__(self, identity: Tensor, cores: Tensor, left: Tensor, right: Tensor):
        """identity [num_steps+1], cores [num_steps+1,R,R], left and right [S,R], float64."""
        self.num_categories = left.shape[0]
        self.identity, self.cores, self.left, self.right = identity, cores, left, right

    def to(self, device: torch.device) -> LowRank:
        parts = (self.identity, self.cores, self.left, self.right)
        return LowRank(*(part.to(device) for part in parts))

    def work_type(self, values: torch.dtype) -> torch.dtype:
        return torch.float64

    def log_entries(self, k: Power, x: Tensor, y: Tensor) -> Tensor:
        moved = (self._times_core(k, self.left[x]) * self.right[y]).sum(-1)
        stays = spread_over(self.identity[k], x).expand(x.shape)
        return (moved + stays.masked_fill(x != y, 0.0)).log()

    def log_rows(self, k: Power, x: Tensor) -> Tensor:
        return self._with_identity(k, x, self._times_core(k, self.left[x]) @ self.right.T)

    def log_columns(self, k: Power, y: Tensor) -> Tensor:
        return self._with_identity(
            k, y, self._times_core(k, self.right[y], turned=True) @ self.left.T
        )

    def log_product(self, k: Power, log_p: Tensor) -> Tensor:
        moved = self._times_core(k, log_p.exp() @ self.right, turned=True) @ self.left.T
        none = spread_over(self._tensor(k, log_p), log_p) == 0
        log_moved = moved.masked_fill(none, 1.0).log().masked_fill(none, -torch.inf)
        return log_add(log_moved, spread_over(self.identity[k].log(), log_p) + log_p)

    def _with_identity(self, k: Power, x: Tensor, rows: Tensor) -> Tensor:
        stays = spread_over(self.identity[k], x).expand(x.shape).unsqueeze(-1)
        return rows.scatter_add(-1, x.unsqueeze(-1), stays).log()

    def _times_core(self, k: Power, rows: Tensor, turned: bool = False) -> Tensor:
        """rows [B,..,R] times C_k, or its transpose."""
        core = self.cores[self._tensor(k, rows)]
        core = core.transpose(1, 2) if turned else core
        return (rows.reshape(rows.shape[0], -1, rows.shape[-1]) @ core).view(rows.shape)

    def _tensor(self, k: Power, like: Tensor) -> Tensor:
        if isinstance(k, int):
            return torch.full((like.shape[0],), k, device=like.device)
        return k


def uniform_operator(num_categories: int, gamma: float, skip: int, num_steps: int) -> Uniform:
    """Steps of `skip` elementary ones, each of which leaves with probability gamma."""
    size = float(num_categories)
    shrink = gamma * size / (size - 1.0)
    # log1p and expm1 keep 1 - a^n exact for tiny gamma, and the diagonal for gamma near 1, where
    # a = 1 - shrink is negative.
    if shrink == 1.0:
        log_abs = -math.inf
    else:
        log_abs = math.log1p(-shrink) if shrink < 1.0 else math.log1p(shrink - 2.0)
    rows = [(0.0, -math.inf, 0.0)]
    negative = [False]
    for n in range(skip, skip * num_steps + 1, skip):
        log_identity = n * log_abs
        negative.append(shrink > 1.0 and n % 2 == 1)
        if not negative[-1]:
            off = -math.expm1(log_identity) / size
            diagonal = math.exp(log_identity) + off
        else:
            off = (1.0 + math.exp(log_identity)) / size
            diagonal = -math.expm1(math.log(size - 1.0) + log_identity) / size
        rows.append((log_identity, math.log(off), math.log(1.0 - gamma if n == 1 else diagonal)))
    log = torch.tensor(rows, dtype=torch.float64).T.contiguous()
    return Uniform(num_categories, log, torch.tensor(negative))


def low_rank_operator(
    stay: float, left: Tensor, right: Tensor, skip: int, num_steps: int
) -> LowRank:
    """Steps of `skip` elementary ones of stay I + (1 - stay) U V^T."""
    rank = left.shape[1]
    inner = right.T @ left
    identity, core = 1.0, torch.zeros(rank, rank, dtype=torch.float64)
    identities, cores = [identity], [core]
    eye = torch.eye(rank, dtype=torch.float64)
    for n in range(1, skip * num_steps + 1):
        core = (1.0 - stay) * (identity * eye + core @ inner) + stay * core
        identity *= stay
        if n % skip == 0:
            identities.append(identity)
            cores.append(core)
    return LowRank(torch.tensor(identities, dtype=torch.float64), torch.stack(cores), left, right)
