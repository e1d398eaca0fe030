"""Products of positive matrices in the log domain: what dense references are made of."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

# Factors are scaled to a maximum of 1. A sum above this floor has lost nothing to underflow, whose
# terms are below 1e-308; any other is summed again in the log domain.
_FLOOR = 1e-250
# Tables with no entry below the exponential of this keep every sum above that floor.
CERTIFIED = -500.0
_MOST_TERMS = 1 << 22  # of a block that is summed in the log domain


def is_compiling() -> bool:
    """Whether torch.compile traces this: then tensors have no values to look at."""
    compiler = getattr(torch, "compiler", None)  # since torch 2
    return compiler is not None and bool(compiler.is_compiling())


def _is_captured(tensor: Tensor) -> bool:
    """Whether a CUDA graph records this: no value may come to the host."""
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


def log_matmul(a: Tensor, b: Tensor) -> Tensor:
    """log(exp(a) @ exp(b)) of float64 matrices with finite entries, to full precision."""
    rows, columns = a.amax(1, keepdim=True), b.amax(0, keepdim=True)
    product = (a - rows).exp() @ (b - columns).exp()
    out = product.log() + rows + columns
    low_rows, low_columns = (product < _FLOOR).nonzero(as_tuple=True)
    block = max(1, _MOST_TERMS // a.shape[1])
    for i, j in zip(torch.split(low_rows, block), torch.split(low_columns, block)):
        out[i, j] = (a[i] + b[:, j].T).logsumexp(1)
    return out


class LogApply(torch.autograd.Function):
    """log sum_c Q_k[s,c] exp(log_w[c]) for rows log_w [B,D,S], with a table k for each row [B].

    tables are log Q_k [powers,S,S] without the identity, linear their exponentials, all float64.
    Rows whose sums leave the range of a matrix product are summed in the log domain. Certified
    tables have none; of others, where values cannot be looked at, all rows are.
    """

    @staticmethod
    def forward(
        ctx: Any, log_w: Tensor, tables: Tensor, linear: Tensor, k: Tensor, certified: bool
    ) -> Tensor:
        ctx.linear = certified or not (is_compiling() or _is_captured(log_w))
        low = None
        if ctx.linear:
            high = _finite_maximum(log_w)
            sums = torch.bmm((log_w - high).exp(), linear[k].transpose(1, 2))
            out = sums.log() + high
            if not certified:
                low = (sums < _FLOOR).any(-1)  # [B,D]
                low = low if bool(low.any()) else None
            if low is not None:
                out[low] = _in_blocks(_exact_sums, (log_w[low],), tables, _of_rows(k, low))
        else:
            out = _whole(_exact_sums, (log_w,), tables, k)
        ctx.save_for_backward(log_w, tables, linear, k, out, low)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Of log_w alone: its [c] gets w[c] sum_s Q_k[s,c] grad[s] / sum[s]."""
        log_w, tables, linear, k, out, low = ctx.saved_tensors
        if not ctx.linear:
            return _whole(_exact_pull, (log_w, out, grad), tables, k), None, None, None, None
        high = _finite_maximum(log_w)
        flow = grad * (high - out).exp()
        if low is not None:
            flow = flow.masked_fill(low.unsqueeze(-1), 0.0)
        pulled = torch.bmm(flow, linear[k]) * (log_w - high).exp()
        if low is not None:
            parts = (log_w[low], out[low], grad[low])
            pulled[low] = _in_blocks(_exact_pull, parts, tables, _of_rows(k, low))
        return pulled, None, None, None, None


def _finite_maximum(log_w: Tensor) -> Tensor:
    """Of each row; 0 for one without mass."""
    high = log_w.amax(-1, keepdim=True)
    return high.masked_fill(high == -torch.inf, 0.0)


def _of_rows(k: Tensor, low: Tensor) -> Tensor:
    return k[:, None].expand(low.shape)[low]


def _in_blocks(compute: Any, parts: tuple[Tensor, ...], tables: Tensor, k: Tensor) -> Tensor:
    """compute(parts..., tables of the rows), a block of rows at a time."""
    rows = max(1, _MOST_TERMS // tables.shape[-1] ** 2)
    blocks = zip(*(torch.split(part, rows) for part in (*parts, k)))
    return torch.cat([compute(*block[:-1], tables[block[-1]]) for block in blocks])


def _whole(compute: Any, parts: tuple[Tensor, ...], tables: Tensor, k: Tensor) -> Tensor:
    """The same for all rows [B,D]. A compiler needs no blocks: it fuses terms and sum.

    The answer is compute's own. What returns its argument, as torch.as_tensor does, would make the
    output of LogApply one of its intermediates too: torch.compile of torch 2.11 then hands the
    gradient to that one and calls backward with 0.
    """
    if is_compiling():
        sums: Tensor = compute(*parts, tables[k].unsqueeze(1))
        return sums
    shape = parts[0].shape
    flat = tuple(part.reshape(-1, shape[-1]) for part in parts)
    rows = k[:, None].expand(shape[:2]).reshape(-1)
    return _in_blocks(compute, flat, tables, rows).view(shape)


def _exact_sums(log_w: Tensor, table: Tensor) -> Tensor:
    """log sum_c exp(table[..,s,c] + log_w[..,c])."""
    return (table + log_w.unsqueeze(-2)).logsumexp(-1)


def _exact_pull(log_w: Tensor, out: Tensor, grad: Tensor, table: Tensor) -> Tensor:
    """sum_s grad[..,s] exp(table[..,s,c] + log_w[..,c] - out[..,s]), 0 where a sum is log 0."""
    out = out.masked_fill(out == -torch.inf, torch.inf)
    shares = (table + log_w.unsqueeze(-2) - out.unsqueeze(-1)).exp()
    return (grad.unsqueeze(-1) * shares).sum(-2)
