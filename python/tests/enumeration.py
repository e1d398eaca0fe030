"""What tests of couplings on few states share: their laws by enumeration, in NumPy."""

import numpy as np
import pytest


def list_states(dim, num_categories):
    """All of them, [S**D, D], the last coordinate the fastest."""
    return np.indices((num_categories,) * dim).reshape(dim, -1).T.astype(np.int32)


def cp_values(log_beta, log_cores, states):
    """The sum over k of beta_k prod_d core_k^d at each state."""
    terms = np.exp(log_beta)
    for d in range(states.shape[1]):
        terms = terms * np.exp(log_cores[d])[states[:, d]]
    return terms.sum(1)


def positive_matrix(size, seed):
    """A reference that is not symmetric and does not have an even stationary law."""
    matrix = np.random.default_rng(seed).random((size, size)) ** 3 + 0.02
    return matrix / matrix.sum(1, keepdims=True)


def coordinates_of(law, dim, size):
    """Laws [rows, S**D] of whole states by coordinate, [rows, D, S]."""
    law = law.reshape(len(law), *[size] * dim)
    axes = range(1, dim + 1)
    return np.stack([law.sum(tuple(a for a in axes if a != d)) for d in axes], 1)


def every_pair(states):
    """All (from, to), `from` the slower."""
    count = len(states)
    return np.repeat(states, count, axis=0), np.tile(states, (count, 1))


def near_counts(drawn, law):
    """Whether the counts of draws [rows, D] are those of a law [D, S], to 6 deviations."""
    rows, dim = drawn.shape
    for d in range(dim):
        counts = np.bincount(drawn[:, d], minlength=law.shape[1])
        deviation = np.sqrt(rows * law[d] * (1 - law[d]))
        if not (np.abs(counts - rows * law[d]) < 6 * deviation + 3).all():
            return False
    return True


def refuses(message, call, *arguments, **options):
    with pytest.raises(ValueError, match=message) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
