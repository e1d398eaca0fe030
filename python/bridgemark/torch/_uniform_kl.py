"""The loss of bridge matching over a uniform reference, from the logits at once.

The pinned step t has three numbers in all: one at x, one at x1 and one elsewhere. With
p = softmax(z), y[s] = off + a p[s] (the numbers of Q_rest) and Z = off' + a' p[x] (of Q_(rest+1)),
the step is m[s] = Q_1[x,s] y[s] / Z, and
    KL(t || m) = constant + log Z - t_x log y[x] - t_1 log y[x1] - t_other sum_other log y[s].
With share[s] = a p[s] / y[s] and share_Z = a' p[x] / Z its gradient is
    h[s] = share_Z [s = x] - t[s] share[s],   d KL / d z[s] = h[s] - p[s] sum h.
So a pass over the logits for their log-sum-exp, one for sum log y and sum share, and one backward;
nothing of the size of the logits is kept but the logits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ._log_domain import is_compiling
from ._operators import Power, Uniform, ends_unlike_and_alike, place_of, spread_over

# A smaller probability of a move, and float32 could lose it beside the logits' own.
_LEAST_LOG_OFF = -60.0


def has_uniform_kl(operator: Uniform) -> bool:
    """Whether uniform_step_kl answers for this reference."""
    return operator.suits_linear_sums(_LEAST_LOG_OFF)


def kl_numbers(operator: Uniform) -> Tensor:
    """What the loss needs of each step, for x unlike x1 and for x = x1: float64 [2 num_steps, 8].

    A constant, t at x and at x1 beyond t elsewhere, t elsewhere, off and a of Q_rest, and off and
    a of Q_(rest+1); rest counts the steps that follow.
    """
    rest = torch.arange(len(operator.log_off) - 1, device=operator.log_off.device)
    x, x1, same = ends_unlike_and_alike(rest)

    def number(values: Tensor, k: Tensor | int) -> Tensor:
        return spread_over(values[k], x).expand(x.shape)

    off, diagonal = number(operator.log_off, rest), number(operator.log_diagonal, rest)
    one_off, one_diagonal = number(operator.log_off, 1), number(operator.log_diagonal, 1)
    # log t at x, at x1 (where that is another), and at one of the others
    whole = operator.log_entries(rest + 1, x, x1)
    log_here = one_diagonal + torch.where(same, diagonal, off) - whole
    log_end = (one_off + diagonal - whole).masked_fill(same, -torch.inf)
    log_other = one_off + off - whole
    here, end, other = log_here.exp(), log_end.exp(), log_other.exp()
    others = operator.num_categories - 2 + same.to(torch.float64)

    def entropy_term(t: Tensor, log_t: Tensor) -> Tensor:
        return (t * log_t).masked_fill(t == 0.0, 0.0)

    constant = (
        entropy_term(here, log_here)
        + entropy_term(end, log_end)
        + others * entropy_term(other, log_other)
        - here * one_diagonal
        - (1.0 - here) * one_off
    )
    numbers = (
        constant,
        here - other,
        torch.where(same, 0.0, end - other),
        other,
        off.exp(),
        number(operator.log_identity, rest).exp(),
        number(operator.log_off, rest + 1).exp(),
        number(operator.log_identity, rest + 1).exp(),
    )
    return torch.stack(numbers, -1).reshape(-1, 8)


def uniform_step_kl(
    operator: Uniform, table: Tensor, x: Tensor, rest: Power, logits: Tensor, x1: Tensor
) -> Tensor:
    """The loss [B,D] of `Reference.step_kl`; `table` is that of `kl_numbers`."""
    work = operator.work_type(logits.dtype)
    numbers = torch.nn.functional.embedding(place_of(rest, x == x1), table.to(work))
    kl: Tensor = _UniformStepKl.apply(  # type: ignore[no-untyped-call,unused-ignore]
        logits, x, x1, numbers
    )
    return kl


class _UniformStepKl(torch.autograd.Function):
    """The loss from numbers [B,D,8] as `kl_numbers` has them."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, x: Tensor, x1: Tensor, numbers: Tensor) -> Tensor:
        kernels = _kernels(logits)
        forward = _forward if kernels is None else kernels.forward
        kl: Tensor
        kl, log_sum, shares = forward(logits, x, x1, numbers)
        ctx.save_for_backward(logits, x, x1, numbers, log_sum, shares)
        return kl

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        saved = ctx.saved_tensors
        kernels = _kernels(saved[0])
        backward = _backward if kernels is None else kernels.backward
        return backward(grad, *saved), None, None, None


def _kernels(logits: Tensor) -> Any:
    """Those of Triton on a GPU that it knows; None elsewhere, and for a compiler, which fuses."""
    if not logits.is_cuda or logits.dtype == torch.float64 or is_compiling():
        return None
    try:
        from . import _uniform_kl_triton
    except ImportError:
        return None
    return _uniform_kl_triton if logits.shape[-1] <= _uniform_kl_triton.MOST_CATEGORIES else None


def _forward(
    logits: Tensor, x: Tensor, x1: Tensor, numbers: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    constant, here, end, other, off, a, whole_off, whole_a = numbers.unbind(-1)
    z = logits.to(numbers.dtype)
    log_sum = z.logsumexp(-1)
    p = (z - log_sum.unsqueeze(-1)).exp()
    y = torch.addcmul(off.unsqueeze(-1), a.unsqueeze(-1), p)
    last = off == 0.0  # Q_rest is the identity: t lies at x1 alone
    sum_log_y = y.log().sum(-1).masked_fill(last, 0.0)
    shares = (a.unsqueeze(-1) * p / y).sum(-1).masked_fill(last, 0.0)
    log_y_x, log_y_end = (torch.where(last, _at(z, s) - log_sum, _at(y, s).log()) for s in (x, x1))
    log_whole = torch.log(whole_off + whole_a * _at(p, x))
    kl = (
        constant
        + log_whole
        - other * sum_log_y
        - (here * log_y_x).masked_fill(here == 0.0, 0.0)
        - (end * log_y_end).masked_fill(end == 0.0, 0.0)
    )
    return kl, log_sum, shares


def _backward(
    grad: Tensor,
    logits: Tensor,
    x: Tensor,
    x1: Tensor,
    numbers: Tensor,
    log_sum: Tensor,
    shares: Tensor,
) -> Tensor:
    _, here, end, other, off, a, whole_off, whole_a = numbers.unbind(-1)
    p = (logits.to(numbers.dtype) - log_sum.unsqueeze(-1)).exp()
    last = off == 0.0
    p_x, p_end = _at(p, x), _at(p, x1)
    share_x = torch.where(last, 1.0, a * p_x / (off + a * p_x))
    share_end = torch.where(last, 1.0, a * p_end / (off + a * p_end))
    at_x = whole_a * p_x / (whole_off + whole_a * p_x) - here * share_x
    at_end = -end * share_end
    total = at_x + at_end - other * shares
    flow = torch.addcmul(off.unsqueeze(-1), a.unsqueeze(-1), p).reciprocal_()
    flow = flow.mul_((other * a).unsqueeze(-1)).masked_fill_(last.unsqueeze(-1), 0.0)
    flow = flow.add_(total.unsqueeze(-1)).mul_(p).neg_()
    flow.scatter_add_(-1, x.unsqueeze(-1), at_x.unsqueeze(-1))
    flow.scatter_add_(-1, x1.unsqueeze(-1), at_end.unsqueeze(-1))
    return flow.mul_(grad.unsqueeze(-1)).to(logits.dtype)


def _at(rows: Tensor, states: Tensor) -> Tensor:
    return rows.gather(-1, states.unsqueeze(-1)).squeeze(-1)
