"""The kernels of _uniform_kl.py on a GPU: a row of logits is read once and stays in registers."""

from __future__ import annotations

from typing import Any

import torch
import triton  # type: ignore[import-untyped,import-not-found,unused-ignore]
import triton.language as tl  # type: ignore[import-untyped,import-not-found,unused-ignore]
from torch import Tensor

MOST_CATEGORIES = 16384


@triton.jit  # type: ignore[untyped-decorator,misc,unused-ignore]
def _forward_kernel(  # type: ignore[no-untyped-def]
    logits, x, x1, numbers, kl, log_sum, shares, S: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    s = tl.arange(0, BLOCK)
    inside = s < S
    z = tl.load(logits + row * S + s, mask=inside, other=float("-inf")).to(tl.float32)
    here, end = tl.load(x + row), tl.load(x1 + row)
    z_x = tl.load(logits + row * S + here).to(tl.float32)
    z_end = tl.load(logits + row * S + end).to(tl.float32)
    constant = tl.load(numbers + 8 * row)
    t_x = tl.load(numbers + 8 * row + 1)
    t_end = tl.load(numbers + 8 * row + 2)
    t_other = tl.load(numbers + 8 * row + 3)
    off = tl.load(numbers + 8 * row + 4)
    a = tl.load(numbers + 8 * row + 5)
    whole_off = tl.load(numbers + 8 * row + 6)
    whole_a = tl.load(numbers + 8 * row + 7)

    high = tl.max(z, 0)
    e = tl.exp(z - high)
    total = tl.sum(e, 0)
    log_total = high + tl.log(total)
    last = off == 0.0  # then no term of the others counts: y is 1
    ap = tl.where(last, 0.0, a / total) * e
    y = tl.where(inside, tl.where(last, 1.0, off) + ap, 1.0)
    sum_log_y = tl.sum(tl.log(y), 0)
    share = tl.sum(ap / y, 0)
    log_y_x = tl.where(last, z_x - log_total, tl.log(off + a * tl.exp(z_x - log_total)))
    log_y_end = tl.where(last, z_end - log_total, tl.log(off + a * tl.exp(z_end - log_total)))
    loss = constant + tl.log(whole_off + whole_a * tl.exp(z_x - log_total)) - t_other * sum_log_y
    loss -= tl.where(t_x == 0.0, 0.0, t_x * log_y_x)
    loss -= tl.where(t_end == 0.0, 0.0, t_end * log_y_end)
    tl.store(kl + row, loss)
    tl.store(log_sum + row, log_total)
    tl.store(shares + row, share)


@triton.jit  # type: ignore[untyped-decorator,misc,unused-ignore]
def _backward_kernel(  # type: ignore[no-untyped-def]
    grad, logits, x, x1, numbers, log_sum, shares, out, S: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    s = tl.arange(0, BLOCK)
    inside = s < S
    log_total = tl.load(log_sum + row)
    z = tl.load(logits + row * S + s, mask=inside, other=float("-inf")).to(tl.float32)
    here, end = tl.load(x + row), tl.load(x1 + row)
    p_x = tl.exp(tl.load(logits + row * S + here).to(tl.float32) - log_total)
    p_end = tl.exp(tl.load(logits + row * S + end).to(tl.float32) - log_total)
    t_x = tl.load(numbers + 8 * row + 1)
    t_end = tl.load(numbers + 8 * row + 2)
    t_other = tl.load(numbers + 8 * row + 3)
    off = tl.load(numbers + 8 * row + 4)
    a = tl.load(numbers + 8 * row + 5)
    whole_off = tl.load(numbers + 8 * row + 6)
    whole_a = tl.load(numbers + 8 * row + 7)

    last = off == 0.0
    share_x = tl.where(last, 1.0, a * p_x / (off + a * p_x))
    share_end = tl.where(last, 1.0, a * p_end / (off + a * p_end))
    at_x = whole_a * p_x / (whole_off + whole_a * p_x) - t_x * share_x
    at_end = -t_end * share_end
    total = at_x + at_end - t_other * tl.load(shares + row)
    p = tl.exp(z - log_total)
    scale = tl.where(last, 0.0, t_other * a)
    flow = -p * (total + scale / (tl.where(last, 1.0, off) + a * p))
    flow += tl.where(s == here.to(tl.int32), at_x, 0.0)
    flow += tl.where(s == end.to(tl.int32), at_end, 0.0)
    flow *= tl.load(grad + row)
    tl.store(out + row * S + s, flow.to(out.dtype.element_ty), mask=inside)


def _launch(kernel: Any, rows: int, size: int, *arguments: Any) -> None:
    block = triton.next_power_of_2(size)
    warps = 4 if block <= 2048 else 8 if block <= 8192 else 16
    kernel[(rows,)](*arguments, S=size, BLOCK=block, num_warps=warps)


def forward(
    logits: Tensor, x: Tensor, x1: Tensor, numbers: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Loss, log-sum-exp and sum of shares, float32 [B,D]."""
    kl, log_sum, shares = (torch.empty(x.shape, device=x.device) for _ in range(3))
    inputs = [t.contiguous() for t in (logits, x, x1, numbers)]
    _launch(_forward_kernel, x.numel(), logits.shape[-1], *inputs, kl, log_sum, shares)
    return kl, log_sum, shares


def backward(grad: Tensor, logits: Tensor, x: Tensor, *saved: Tensor) -> Tensor:
    """The gradient of the logits, in their type; `saved` are x1, numbers, log_sum and shares."""
    out = torch.empty(logits.shape, dtype=logits.dtype, device=logits.device)
    inputs = [t.contiguous() for t in (grad, logits, x, *saved)]
    _launch(_backward_kernel, x.numel(), logits.shape[-1], *inputs, out)
    return out
