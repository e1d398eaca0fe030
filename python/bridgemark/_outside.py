"""Solvers of other makers."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class OutsideCoupling(Protocol):
    """What `evaluate` asks of a solver of your own: an object with `sample`, nothing to inherit.

    Scores that need probabilities are given where the object has these as well, with the names and
    shapes of a Pair's own; a score that is missing names what it lacks:
      - log_marginals(x0): log q(x1^d = s | x0) for x0 [B,D]: [B,D,S]; for the exact conditional
        shape score;
      - log_conditional(x0, x1): log q(x1|x0) for the rows of x0 and x1 [B,D]: [B]; for the joint
        KL;
      - num_steps, an int, and log_transition_marginals(x, num_steps, n): log q(x_{n+1}^d = s |
        x_n = x) for x [B,D] and n in 0..num_steps-1: [B,D,S]; for the trajectory KLs, on that
        grid, which divides the pair's total_steps, and, without log_conditional and
        sample_transition, for an upper bound of the joint KL by particles;
      - sample_transition(x, num_steps, n, seed): x_{n+1} given x_n = x [B,D]: [B,D]. Without it
        coordinates are drawn from their transition marginals independently of each other given
        x_n, which is right for a model whose transitions factorise.

    States are int32 arrays, NumPy or in the library and on the device of `like`; answers may be
    of any library and device. Rows of log-probabilities must sum to 1 within 1e-4 and are
    normalised in float64. Seeds are ints below 2^31, another one for each call.
    """

    def sample(self, x0: Any, seed: int, /) -> Any:
        """Draw x1 ~ q(.|x0) for each row of x0, int32 [B,D]: integers [B,D]."""
