"""A bridge of two coordinates that enumeration knows, and what tests train on it."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
from bridgemark.torch import Reference, networks  # noqa: E402

SIZE, STEPS = 4, 8
STATES = torch.cartesian_prod(torch.arange(SIZE), torch.arange(SIZE))  # of two coordinates
TRAINED = {"batch_size": 128, "learning_rate": 0.02, "holdout": 0.0, "initial_pairs": 2048}


def small_network(dim=2, seed=0, hidden=(32,)):
    torch.manual_seed(seed)
    return networks.MLP(dim, SIZE, 12, hidden=hidden, embedding=4)


def small_reference():
    return Reference.uniform(SIZE, 0.04, num_steps=STEPS, total_steps=16)


class Bridge:
    """A bridge of two coordinates in SIZE categories, by Sinkhorn over all pairs of states."""

    def __init__(self, apart=False):
        """With coordinates that are independent of each other where they are `apart`."""
        draws = np.random.default_rng(0)
        if apart:
            laws = draws.dirichlet(np.full(SIZE, 0.7), (2, 2))
            self.p0, self.p1 = (np.outer(*of_end).reshape(-1) for of_end in laws)
        else:
            self.p0, self.p1 = draws.dirichlet(np.full(len(STATES), 0.7), 2)
        log_kernel = small_reference().log_prob(STATES[:, None], STATES[None]).sum(-1)
        kernel = log_kernel.exp().numpy()
        a = b = np.ones(len(STATES))
        for _ in range(2000):
            a = self.p0 / (kernel @ b)
            b = self.p1 / (kernel.T @ a)
        self.joint, self.b = a[:, None] * kernel * b, b
        assert np.abs(self.joint.sum(1) - self.p0).max() < 1e-12

    def rows(self, count, seed=1):
        draws = np.random.default_rng(seed)
        return [STATES.numpy()[draws.choice(len(STATES), count, p=p)] for p in (self.p0, self.p1)]

    def kl(self, law):
        """E over p0 of KL(truth || law), law [x0,x1] of rows that sum to 1."""
        conditional = self.joint / self.joint.sum(1, keepdims=True)
        return float((self.joint * (np.log(conditional) - np.log(law))).sum())


def joint_law(coupling):
    """q(x1|x0) of all pairs of states: [x0,x1]."""
    if hasattr(coupling, "log_conditional"):
        x0, x1 = (s.reshape(-1, 2) for s in np.broadcast_arrays(STATES[:, None], STATES[None]))
        return np.exp(coupling.log_conditional(x0, x1)).reshape(len(STATES), -1)
    law = torch.eye(len(STATES), dtype=torch.float64)
    for n in range(coupling.num_steps):
        steps = coupling.log_transition_marginals(STATES, coupling.num_steps, n).exp()
        law = law @ (steps[:, 0, STATES[:, 0]] * steps[:, 1, STATES[:, 1]])
    return law.numpy()
