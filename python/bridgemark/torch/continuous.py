"""A reference in continuous time: rates of its jumps, steered to an end."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ._log_domain import log_matmul
from ._operators import (
    Dense,
    Operator,
    Power,
    draw,
    low_rank_operator,
    uniform_operator,
)
from .reference import Reference, answer_type, full_precision, log_powers

# exp(P - I) is exp((P - I) / 2^_HALVINGS), by that many terms, squared as often.
_HALVINGS, _TERMS = 4, 20


class ContinuousReference(Reference):
    """A reference whose elementary steps come at random times, as many on the mean.

    The chain has the generator total_steps (P - I) over the time from x0 to x1, P the elementary
    step of the reference that it is made `of`. Its law after n of num_steps steps is
    exp(total_steps (P - I) n / num_steps), in the log domain, and all operations of Reference are
    those over that law. New are those of its rates: `log_rates`, `rate_kl`, `leap`.
    """

    def __init__(self, reference: Reference):
        """Of the same process and steps."""
        process = {k: v for k, v in reference.describe().items() if k not in ("kind", "num_steps")}
        one = {**process, "total_steps": 1}
        self._elementary = Reference(reference.kind, one, 1)
        super().__init__(reference.kind, process, reference.num_steps)

    def reversed(self) -> ContinuousReference:
        """The process seen backwards in time."""
        return ContinuousReference(super().reversed())

    def to(self, device: torch.device | str) -> ContinuousReference:
        """Make the numbers on the device now; returns the reference itself."""
        self._elementary.to(device)
        super().to(device)
        return self

    def log_rates(self, x: Tensor, n: Power, logits: Tensor) -> Tensor:
        """log of jumps a step from x to each state, -inf for x itself: [B,D,S].

        The process's own times h(s) / h(x) with h(s) = sum_c Q_(num_steps-n)[s,c] softmax(z)[c],
        which steers it to an end that the logits z weigh, as `step` does. Differentiable in them.
        """
        operator = self._on(x.device)
        with full_precision(x):
            log_p = logits.to(operator.work_type(logits.dtype)).log_softmax(-1)
            log_h = operator.log_product(self._left(n), log_p)
            return self._steered(x.long(), log_h).to(answer_type(logits))

    def pinned_log_rates(self, x: Tensor, n: Power, x1: Tensor) -> Tensor:
        """The same of the process that is known to end in x1: float64 [B,D,S]."""
        return self._steered(x.long(), self._on(x.device).log_columns(self._left(n), x1.long()))

    def rate_kl(self, x: Tensor, n: Power, logits: Tensor, x1: Tensor) -> Tensor:
        """KL a step of paths with `pinned_log_rates` from those with `log_rates`: [B,D].

        sum_s r*(s) log(r*(s) / r(s)) - r*(s) + r(s), the limit of `step_kl` for short steps.
        Differentiable in the logits.
        """
        with full_precision(x):
            log_r = self.log_rates(x, n, logits)
            target = self.pinned_log_rates(x, n, x1).to(log_r.dtype)
            here = x.long().unsqueeze(-1)
            # Its own state is no jump: both rates are 0 there.
            log_r, target = log_r.scatter(-1, here, -1e4), target.scatter(-1, here, -1e4)
            kl: Tensor = (target.exp() * (target - log_r - 1.0) + log_r.exp()).sum(-1)
            return kl

    def leap(self, x: Tensor, n: Power, logits: Tensor) -> Tensor:
        """log-probabilities [B,D,S] of x_{n+1} where rates stay those of x_n for the whole step.

        Of tau-leaping a coordinate keeps its first jump: it stays with exp(-sum of rates), else
        goes to a state in proportion to its rate.
        """
        log_r = self.log_rates(x, n, logits)
        log_all = log_r.logsumexp(-1, keepdim=True)
        rate = log_all.exp()
        # log(1 - exp(-rate)), finite for rates that only their logarithms have.
        jumps = torch.where(rate < 1e-6, log_all, (-torch.expm1(-rate)).log())
        return (log_r - log_all + jumps).scatter(-1, x.long().unsqueeze(-1), -rate)

    def leap_sample(
        self, x: Tensor, n: Power, logits: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Draw x_{n+1} by `leap`: int64 [B,D]."""
        with torch.no_grad():
            return draw(self.leap(x, n, logits), generator)

    def _left(self, n: Power) -> Power:
        return self.num_steps - self._power(n, 0, self.num_steps - 1)

    def _steered(self, x: Tensor, log_h: Tensor) -> Tensor:
        here = x.unsqueeze(-1)
        own = self._elementary._on(x.device).log_rows(1, x)
        own = own + math.log(self.total_steps / self.num_steps)
        log_r = own.to(log_h.dtype) + log_h - log_h.gather(-1, here)
        return log_r.scatter(-1, here, -torch.inf)

    def _make_operator(self) -> Operator:
        skip, steps = self.total_steps // self.num_steps, self.num_steps
        size, process = self.num_categories, self._process
        if self.kind == "uniform":
            assert self.gamma is not None
            share = (size - 1.0) / size
            return uniform_operator(size, -math.expm1(-self.gamma / share) * share, skip, steps)
        if self.kind == "low-rank":
            jumps = 1.0 - process["stay"]
            left, right = process["left"], process["right"]
            inner, core = right.T @ left, torch.zeros(left.shape[1], left.shape[1]).double()
            power = torch.eye(left.shape[1], dtype=torch.float64)
            for j in range(1, 40):  # U core V^T = exp(-jumps) sum_j jumps^j (U V^T)^j / j!
                core = core + math.exp(j * math.log(jumps) - jumps - math.lgamma(j + 1.0)) * power
                power = power @ inner
            return low_rank_operator(
                math.exp(-jumps), left @ core / -math.expm1(-jumps), right, skip, steps
            )
        return Dense(log_powers(_log_exponential(self._log_elementary()), skip, steps))


def _log_exponential(log_step: Tensor) -> Tensor:
    """log of exp(P - I): jumps by P, a Poisson number of mean 1."""
    mean = 0.5**_HALVINGS
    power = log_step
    total = log_step + (math.log(mean) - mean)
    for j in range(2, _TERMS + 1):
        power = log_matmul(power, log_step)
        total = torch.logaddexp(total, power + (j * math.log(mean) - mean - math.lgamma(j + 1.0)))
    total.diagonal().copy_(
        torch.logaddexp(total.diagonal(), torch.full_like(total.diagonal(), -mean))
    )
    for _ in range(_HALVINGS):
        total = log_matmul(total, total)
    return total
