"""The steps of a truth, drawn coordinate by coordinate or whole, and what lies between the two.

A step of a bridge draws its hidden components first, then each coordinate by its own; a sampler
whose steps factorise draws each coordinate from its marginal, which is to draw a component for each
coordinate anew: a tenth of the time of writing the marginals [B,D,S] and drawing from them.
"""

import functools

import numpy as np

CELLS = 128  # of the unit interval, in each of which most draws are decided
UNDECIDED = 255


def draw_marginals(log_marginals, random):
    """A category for each coordinate, independently of each other: int32 [B,D]."""
    sums = np.exp(log_marginals).cumsum(axis=-1)
    below = random.random(sums.shape[:-1])[..., None] * sums[..., -1:]
    return (sums <= below).sum(axis=-1).astype(np.int32)


def log_sum_exp(terms, axis):
    largest = terms.max(axis=axis, keepdims=True)
    return np.log(np.exp(terms - largest).sum(axis=axis)) + np.squeeze(largest, axis)


def rows_of(table, at):
    """table[at], several times as fast; all indices are in range."""
    return table.take(at, axis=0, mode="clip")


def seen_through(pair, elementary_steps):
    """The cores [D,S,K] as seen `elementary_steps` before the end."""
    log_q = pair.log_reference(elementary_steps)
    return np.stack([log_sum_exp(log_q[:, :, None] + core, 1) for core in pair.log_cores])


class FactorisedStep:
    """x_{n+1} given x_n, each coordinate from its marginal of the truth's transition."""

    def __init__(self, pair, num_steps, n):
        self.dim, self.S, self.K = pair.log_cores.shape
        length = pair.total_steps // num_steps
        before = seen_through(pair, pair.total_steps - n * length)
        after = seen_through(pair, pair.total_steps - (n + 1) * length)
        self.log_beta, self.log_from = pair.log_beta, before.reshape(-1, self.K)
        self.moves = None if pair.log_moves is None else np.exp(pair.log_moves)
        if self.moves is not None:
            self.fits = np.exp(self.log_from - self.log_from.max(axis=1, keepdims=True))
            # A message loses at most the least move at a coordinate.
            assert self.moves.min() ** (2 * self.dim) > 1e-290, "messages would underflow"
        # [D,S,K,S]: from which category by which component to which.
        log_to = pair.log_reference(length)[None, :, None] + after.transpose(0, 2, 1)[:, None]
        sums = np.exp(log_to - log_to.max(axis=-1, keepdims=True)).cumsum(axis=-1)
        self.sums = (sums / sums[..., -1:]).reshape(-1, self.S)
        rows = np.arange(len(self.sums))[:, None]  # row r of the sums lies in (r, r + 1]
        edges = rows + np.arange(CELLS + 1) / CELLS
        low = np.searchsorted((rows + self.sums).ravel(), edges[:, :-1], side="right")
        high = np.searchsorted((rows + self.sums).ravel(), edges[:, 1:], side="left")
        self.guide = np.where(low == high, low - rows * self.S, UNDECIDED).astype(np.uint8).ravel()

    def component_weights(self, x):
        """The law of each coordinate's component given the states, up to a factor: [K,B,D], or
        [K,B,1] where all coordinates have one component."""
        at = x + self.S * np.arange(self.dim)
        if self.moves is None:
            log_weights = self.log_beta + np.ones(self.dim) @ rows_of(self.log_from, at)
            return np.exp(log_weights - log_weights.max(axis=1, keepdims=True)).T[:, :, None]
        fits = rows_of(self.fits, at.T)  # [D,B,K]
        weights = np.empty_like(fits)
        message = np.exp(self.log_beta - self.log_beta.max())
        for d in range(self.dim):
            weights[d] = message * fits[d]
            if d + 1 < self.dim:
                message = weights[d] @ self.moves[d]
        message = np.ones(self.K)
        for d in range(self.dim - 1, 0, -1):
            weights[d] *= message
            message = (fits[d] * message) @ self.moves[d - 1].T
        weights[0] *= message
        return weights.transpose(2, 1, 0).copy()

    def draw(self, x, random):
        weights = self.component_weights(x)
        row = (x + self.S * np.arange(self.dim)) * self.K
        level = random.random(x.shape)
        level *= weights.sum(axis=0)
        sums = np.zeros_like(weights[0])
        for k in range(self.K - 1):
            sums += weights[k]
            row += level >= sums
        level = random.random(x.shape)
        drawn = rows_of(self.guide, row * CELLS + (level * CELLS).astype(np.int64)).astype(np.int32)
        rest = np.flatnonzero(drawn == UNDECIDED)
        sums = rows_of(self.sums, row.ravel()[rest])
        drawn.ravel()[rest] = (sums <= level.ravel()[rest, None]).sum(axis=1)
        return drawn

    def marginals(self, x):
        """What `draw` draws from: [B,D,S]."""
        at = x + self.S * np.arange(self.dim)
        laws = np.diff(self.sums.reshape(-1, self.K, self.S), axis=2, prepend=0.0)
        weights = self.component_weights(x)
        weights = (weights / weights.sum(axis=0)).transpose(1, 2, 0)
        return (weights[..., None] * laws[at]).sum(axis=2)


class FactorisedSteps:
    """The truth's transitions drawn coordinate by coordinate: a wrong sampler of a right model.

    With `noise` each coordinate of a step is uniform with that probability.
    """

    def __init__(self, pair, num_steps, noise=0.0):
        self.pair, self.num_steps, self.noise = pair, num_steps, noise

    @functools.cached_property
    def steps(self):
        """Those that draw, checked against the marginals that the package has."""
        steps = [FactorisedStep(self.pair, self.num_steps, n) for n in range(self.num_steps)]
        x = self.pair.test_set()[1][:20]
        for n in {0, self.num_steps // 2, self.num_steps - 1}:
            exact = np.exp(self.pair.log_transition_marginals(x, self.num_steps, n))
            np.testing.assert_allclose(steps[n].marginals(x), exact, rtol=0, atol=1e-9)
        return steps

    def log_transition_marginals(self, x, num_steps, n):
        marginals = self.pair.log_transition_marginals(x, num_steps, n)
        if self.noise == 0.0:
            return marginals
        return np.log((1 - self.noise) * np.exp(marginals) + self.noise / self.pair.num_categories)

    def sample(self, x0, seed):
        random, parts = np.random.default_rng(seed), []
        for x in np.array_split(x0, max(1, len(x0) // 1000)):
            for step in self.steps:
                x = step.draw(x, random)
                if self.noise > 0.0:
                    wrong = random.random(x.shape) < self.noise
                    x[wrong] = random.integers(self.pair.num_categories, size=wrong.sum())
            parts.append(x)
        return np.concatenate(parts)


class WholeSteps:
    """The truth's transitions as they are, components first: right with any number of steps."""

    def __init__(self, pair, num_steps):
        self.pair, self.num_steps = pair, num_steps
        self.log_transition_marginals = pair.log_transition_marginals
        # Whole steps are the truth's own law; without it they would be scored as factorised ones.
        self.log_conditional = pair.log_conditional

    def sample(self, x0, seed):
        random = np.random.default_rng(seed)
        parts = np.array_split(x0, max(1, len(x0) // 1000))
        return np.concatenate(
            [self.pair.sample_trajectory(x, self.num_steps, random)[:, -1] for x in parts]
        )


def path_kl(pair, num_steps, num_paths=8000, seed=5):
    """KL(truth || its steps factorised) of whole paths, in nats, and its standard error.

    It is the sum over steps of E KL(q*(x_{n+1}|x_n) || prod_d q*(x_{n+1}^d|x_n)): what the forward
    trajectory KL leaves out of KL(truth || solver) where the solver's steps factorise.
    """
    x0 = pair.test_set()[0][:num_paths]
    paths = pair.sample_trajectory(x0, num_steps, seed)
    log_q = pair.log_reference(pair.total_steps // num_steps)
    log_whole = pair.log_reference(pair.total_steps)
    # The potentials between cancel: all steps together are the end and the reference pinned to it.
    terms = pair.log_conditional(x0, paths[:, -1]) - log_whole[x0, paths[:, -1]].sum(axis=1)
    for n in range(num_steps):
        x, y = paths[:, n], paths[:, n + 1]
        marginals = pair.log_transition_marginals(x, num_steps, n)
        terms += log_q[x, y].sum(axis=1)
        terms -= np.take_along_axis(marginals, y[..., None], axis=2).sum(axis=(1, 2))
    return float(terms.mean()), float(terms.std(ddof=1) / np.sqrt(len(terms)))
