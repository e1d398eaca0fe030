"""Other solvers of bridgemark.torch: laws by enumeration, what they learn, their files."""

import contextlib
import itertools
import math

import numpy as np
import pytest

import bridgemark as bm

torch = pytest.importorskip("torch", reason="torch is not installed")
from bridgemark.torch import (  # noqa: E402
    CNOT,
    DDSBM,
    AutoregressiveBridge,
    ContinuousReference,
    FlowMatching,
    Recipe,
    Reference,
    load,
    networks,
)
from bridgemark.torch import cnot as cnot_module  # noqa: E402
from bridgemark.torch._data import couple_first  # noqa: E402
from bridgemark.torch.autoregressive import CoordinateMatching  # noqa: E402
from bridgemark.torch.flow_matching import MixtureMatching  # noqa: E402

SIZE, STEPS = 4, 8
STATES = torch.cartesian_prod(torch.arange(SIZE), torch.arange(SIZE))  # of two coordinates
FAST = {"batch_size": 16, "initial_pairs": 64, "initial_batch": 32, "log_every": 5, "holdout": 0.0}
IMF = {"updates_first": 12, "updates_later": 6, "imf_iterations": 2}
ROWS = [
    (AutoregressiveBridge, {**FAST, **IMF}),
    (DDSBM, {**FAST, **IMF, "sampler": "leaps"}),
    (FlowMatching, {**FAST, "updates": 18}),
    (
        CNOT,
        {"batch_size": 16, "updates": 35, "plan_updates": 2, "penalty_until": 6, "log_every": 5},
    ),
]
each_row = pytest.mark.parametrize(("kind", "options"), ROWS, ids=[kind.name for kind, _ in ROWS])


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def small_network(dim=2, seed=0, hidden=(32,)):
    torch.manual_seed(seed)
    return networks.MLP(dim, SIZE, 12, hidden=hidden, embedding=4)


def made(kind, options, seed=0):
    network = small_network(seed=seed)
    if kind is CNOT:
        options = {**options, "potential": networks.Potential(2, SIZE, (16,), 4)}
    return kind(network, small_reference(), **options)


def directions(model):
    return [model, model.reversed()] if hasattr(model, "reversed") else [model]


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


class Told(torch.nn.Module):
    """A network whose logits [B,D,S] are a function of states and steps."""

    def __init__(self, tell):
        super().__init__()
        self.tell = tell

    def forward(self, x, n):
        return self.tell(x, n)


def parameters(model):
    return {
        f"{direction}.{name}": value
        for direction, coupling in model._couplings.items()
        for name, value in coupling.network.state_dict().items()
    }


def same(a, b):
    a, b = parameters(a), parameters(b)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@each_row
def test_draws_are_those_of_its_law(kind, options):
    model = made(kind, options).fit(*Bridge().rows(99))
    for coupling in directions(model):
        law = joint_law(coupling)[6]
        assert abs(law.sum() - 1) < 1e-12
        drawn = coupling.sample(np.tile(STATES[6].numpy(), (40_000, 1)), seed=3)
        assert np.array_equal(
            drawn[:9], coupling.sample(np.tile(STATES[6].numpy(), (40_000, 1)), seed=3)[:9]
        )
        found = np.bincount(SIZE * drawn[:, 0] + drawn[:, 1], minlength=16) / len(drawn)
        chi = len(drawn) * ((found - law) ** 2 / law).sum()
        assert chi < 60.0  # 15 degrees: one false alarm in 4e6


class Killed(Exception):
    pass


@each_row
def test_killed_and_resumed_is_the_same(kind, options, tmp_path):
    options = {**options, "checkpoint_every": 0.0}
    judged = "holdout" in options
    if judged:
        options |= {"holdout": 0.3, "patience": 1}
    rows = Bridge().rows(150)

    def fitted(seed=0, **others):
        return made(kind, options, seed).fit(*rows, seed=7, **others)

    def kill(line):
        if line["update"] >= 25:
            raise Killed

    whole = fitted()
    with contextlib.suppress(Killed):
        fitted(folder=tmp_path / "run", on_log=kill)
    assert not (tmp_path / "run" / "result.json").exists()
    again = fitted(seed=35, folder=tmp_path / "run", resume=True)
    assert same(again, whole) and ("refit" in whole.diagnostics) == judged
    assert [line["loss"] for line in again.history] == [line["loss"] for line in whole.history]


@each_row
def test_what_is_saved_is_loaded(kind, options, tmp_path):
    model = made(kind, options)
    with pytest.raises(RuntimeError, match="must be fitted first"):
        model.sample(STATES)
    model.fit(*Bridge().rows(99)).save(tmp_path / "run")
    loaded = load(tmp_path / "run")
    assert type(loaded) is kind and loaded.recipe == model.recipe and same(loaded, model)
    for ours, theirs in zip(directions(model), directions(loaded)):
        assert np.array_equal(ours.sample(STATES.numpy(), 1), theirs.sample(STATES.numpy(), 1))
        assert np.array_equal(joint_law(ours), joint_law(theirs))


@each_row
def test_a_pair_is_scored_with_its_joint_kl(kind, options):
    pair = bm.load("d2-uniform-0.01-spread")
    if kind is CNOT:
        options = {**options, "potential": networks.Potential(2, 50, (16,), 4)}
    model = kind(networks.MLP(2, 50, 16, hidden=(16,)), pair, **options).fit(pair)
    result = bm.evaluate(pair, model, conditional_samples=20, particles=4)
    exact = hasattr(model, "log_conditional")
    assert result["joint_kl_bound"] == ("exact" if exact else "upper")
    assert math.isfinite(result["joint_kl"]) and result["conditional_shape_score"] is not None
    assert exact or (result["num_steps"] == 16 and result["forward_trajectory_kl"] > 0.0)


TRAINED = {"batch_size": 128, "learning_rate": 0.02, "holdout": 0.0, "initial_pairs": 2048}


def true_logits(bridge, matching, x, n):
    """Of the bridge given a state of the ordered chain: log p(x1^d = c | x) less the reference."""
    order, sweeps = matching.order, matching.reference.num_steps
    n = int(n[0])
    if n < len(order):  # the answer: what has come stays, what is left goes all the way
        left = [0 if d in order[:n] else sweeps for d in range(2)]
    else:
        k, moved = n // len(order) - 1, order[: n % len(order)]
        left = [sweeps - k - (d in moved) for d in range(2)]
    process = matching.reference
    log_kernel = [process.log_prob(x[:, d : d + 1], STATES[None, :, d], left[d]) for d in range(2)]
    log_v = torch.as_tensor(bridge.b).log()
    posterior = (log_kernel[0] + log_kernel[1] + log_v).softmax(1)
    ends = torch.nn.functional.one_hot(STATES, SIZE).double()  # [x1,D,S]
    logits = torch.einsum("ij,jdc->idc", posterior, ends).log()
    steps = torch.arange(SIZE)
    for d in range(2):
        if left[d]:
            logits[:, d] -= process.log_prob(x[:, d : d + 1], steps, left[d])
    return logits


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_true_bridge_is_autoregressive(order):
    """Given the bridge's own conditionals, the answer and the sweeps are the bridge itself."""
    bridge = Bridge()
    matching = CoordinateMatching(small_reference().with_steps(2), order)
    network = Told(lambda x, n: true_logits(bridge, matching, x, n))
    answer, chain = matching.coupling(network), matching.chain(network)
    assert abs(bridge.kl(joint_law(answer))) < 1e-12
    truth = bridge.joint[5] / bridge.joint[5].sum()
    for coupling in (answer, chain):
        drawn = coupling.sample(np.tile(STATES[5].numpy(), (40_000, 1)), seed=3)
        found = np.bincount(SIZE * drawn[:, 0] + drawn[:, 1], minlength=16) / len(drawn)
        assert len(drawn) * ((found - truth) ** 2 / truth).sum() < 60.0  # of 15 degrees


def test_autoregressive_learns_the_bridge():
    bridge = Bridge()
    x0, x1 = bridge.rows(20_000)
    options = {**TRAINED, "updates_first": 70, "updates_later": 40, "imf_iterations": 3,
               "initial": "independent"}  # fmt: skip
    model = AutoregressiveBridge(small_network(), small_reference(), **options).fit(x0, x1)
    independent = np.tile(bridge.p1, (len(STATES), 1))
    assert bridge.kl(joint_law(model)) < 0.1 < 0.25 < bridge.kl(independent)
    back = joint_law(model.reversed())
    assert np.abs(bridge.p1 @ back - bridge.p0).sum() < 0.25


@pytest.mark.parametrize("order", [None, (2, 0, 1)])
def test_the_autoregressive_joint_sums_to_one(order):
    """Each factor is the network's at the state that has come so far, times the reference."""
    states = torch.tensor(list(itertools.product(range(SIZE), repeat=3)))
    model = AutoregressiveBridge(
        small_network(dim=3), small_reference(), order=order, **FAST, **IMF
    ).fit(states, states)
    x0 = torch.tensor([[1, 0, 3]]).expand(len(states), -1)
    for coupling, steps in ((model, order or (0, 1, 2)), (model.reversed(), (1, 0, 2))):
        law = coupling.log_conditional(x0, states)
        assert abs(float(law.exp().sum()) - 1) < 1e-12
        if coupling is not model and order is None:
            continue  # its order is 2, 1, 0
        x, expected = x0.clone(), torch.zeros(len(states), dtype=torch.float64)
        whole = small_reference().with_steps(1)
        network = getattr(coupling, "coupling", coupling).network
        for n, d in enumerate(steps):
            with torch.no_grad():
                logits = network(x, torch.full_like(x[:, 0], n))[:, d].double()
            one = whole.log_prob(x[:, d : d + 1], torch.arange(SIZE)) + logits
            expected += one.log_softmax(-1).gather(1, states[:, d : d + 1])[:, 0]
            x[:, d] = states[:, d]
        assert torch.allclose(law, expected, rtol=0, atol=1e-12)


def test_an_order_is_each_coordinate_once(tmp_path):
    for order in ((0, 0), (1, 2), (), 3, "01", (0, "1")):
        with pytest.raises(ValueError, match=r"order must be each coordinate 0..D-1 once"):
            AutoregressiveBridge(small_network(), small_reference(), order=order)
    for order in ((0,), (0, 1, 2)):
        model = AutoregressiveBridge(small_network(), small_reference(), order=order)
        with pytest.raises(ValueError, match=r"each of the 2 coordinates, got \[0"):
            model.fit(*Bridge().rows(20))
    model = AutoregressiveBridge(small_network(), small_reference(), order=[1, 0], **FAST, **IMF)
    model.fit(*Bridge().rows(20)).save(tmp_path / "run")
    assert load(tmp_path / "run").recipe == model.recipe
    with pytest.raises(ValueError, match=r"sweeps must divide .* total_steps, 16, got 3"):
        AutoregressiveBridge(small_network(), small_reference(), sweeps=3)
    with pytest.raises(ValueError, match="unknown option loss"):
        AutoregressiveBridge(small_network(), small_reference(), loss="mse")


def test_states_of_the_sweeps_are_pinned():
    """A coordinate that has moved in sweep k is at time k + 1 of the pinned reference."""
    reference = small_reference().with_steps(4)
    matching = CoordinateMatching(reference, (2, 0, 1))
    start, end = (torch.tensor([row]).expand(40_000, 3) for row in ([0, 1, 2], [3, 1, 0]))
    known = {0: (0, 0, 0), 1: (0, 0, 4), 3: (0, 0, 0)}
    for n, times in {**known, 8: (2, 1, 2), 14: (4, 3, 4)}.items():
        steps = torch.full((40_000,), n)
        x = matching.between(start, end, steps, torch.Generator().manual_seed(n))
        for d, k in enumerate(times):
            if k in (0, 4):
                assert torch.equal(x[:, d], (end if k else start)[:, d])
                continue
            states = torch.arange(SIZE)
            before = reference.log_prob(start[0, d], states, k)
            law = (before + reference.log_prob(states, end[0, d], 4 - k)).softmax(-1)
            found = torch.bincount(x[:, d], minlength=SIZE) / 40_000
            assert float(40_000 * ((found - law) ** 2 / law).sum()) < 35.0  # of 3 degrees


def test_a_network_of_too_few_steps_is_refused():
    model = AutoregressiveBridge(small_network(), small_reference(), sweeps=8)
    with pytest.raises(ValueError, match=r"must take steps n in 0..17"):
        model.fit(*Bridge().rows(20))


@pytest.mark.parametrize("initial", ["independent", "minibatch-ot"])
def test_flow_matching_learns_the_ends(initial):
    bridge = Bridge()
    options = {**TRAINED, "updates": 120, "initial": initial, "initial_batch": 128}
    model = FlowMatching(small_network(), small_reference(), **options).fit(*bridge.rows(20_000))
    assert np.abs(bridge.p0 @ joint_law(model) - bridge.p1).sum() < 0.3
    assert np.abs(bridge.p1 @ joint_law(model.reversed()) - bridge.p0).sum() < 0.3
    assert np.abs(bridge.p1 - bridge.p0).sum() > 0.8


def test_steps_of_the_mixture_path():
    """Told the posterior of the end, the chain has the path's law at every step, and its rates."""
    draws = np.random.default_rng(3)
    joint = torch.as_tensor(draws.dirichlet(np.full(SIZE * SIZE, 0.5)).reshape(SIZE, SIZE))
    p0, p1 = joint.sum(1), joint.sum(0)
    states = torch.arange(SIZE)[:, None]
    chain = MixtureMatching(small_reference(), STEPS).coupling(torch.nn.Identity())
    law = p0
    for n in range(STEPS):
        t = n / STEPS
        assert torch.allclose(law, (1 - t) * p0 + t * p1, rtol=0, atol=1e-14)
        of_ends = (1 - t) * joint + t * torch.diag(p1)  # p(x_t, x1)
        posterior = of_ends / of_ends.sum(1, keepdim=True)
        step = chain.log_step(states, n, posterior.log()[:, None]).exp()[:, 0]
        rates = (step * STEPS).fill_diagonal_(0.0)
        expected = (posterior / (1 - t)).fill_diagonal_(0.0)
        assert torch.allclose(rates, expected, rtol=1e-12)
        law = law @ step
    assert torch.allclose(law, p1, rtol=0, atol=1e-14)


def test_points_of_the_mixture_path():
    """Of the end with probability n / N, and the loss is least at the posterior of the end."""
    matching = MixtureMatching(small_reference(), STEPS)
    start, end = torch.zeros(50_000, 2, dtype=torch.int64), torch.ones(50_000, 2, dtype=torch.int64)
    n = torch.arange(50_000) % STEPS
    moved = matching.between(start, end, n, torch.Generator().manual_seed(1)).double().mean(1)
    for k in range(STEPS):
        assert abs(float(moved[n == k].mean()) - k / STEPS) < 0.02
    posterior = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    ends = torch.arange(SIZE)[:, None]
    logits = posterior.log().requires_grad_()
    losses = matching.losses(ends, n[:SIZE], logits.expand(SIZE, 1, SIZE), ends)
    (posterior * losses).sum().backward()
    assert float(logits.grad.abs().max()) < 1e-15
    assert torch.allclose(losses.detach(), -posterior.log())


def test_pairs_of_a_batch_have_the_least_cost():
    """Against all orders of each batch: the sum of -log q_ref."""
    reference = Reference.gaussian(6, 0.3, num_steps=STEPS, total_steps=16)
    draws = torch.Generator().manual_seed(4)
    x0, x1 = torch.randint(6, (2, 17, 2), generator=draws)
    recipe = Recipe.of({"initial": "minibatch-ot", "initial_batch": 6})
    a, b = couple_first(recipe, reference, x0, x1, draws)
    assert torch.equal(a, x0)
    for rows in (slice(0, 6), slice(6, 12), slice(12, 17)):
        start, ends = x0[rows], x1[rows]
        orders = [list(order) for order in itertools.permutations(range(len(start)))]
        sums = reference.log_prob(start[None], ends[orders]).sum((1, 2))
        found = reference.log_prob(start, b[rows]).sum()
        assert abs(float(found - sums.max())) < 1e-9 < float(sums.max() - sums.median())
        assert sorted(b[rows].tolist()) == sorted(ends.tolist())
    recipe = Recipe.of({"initial": "independent"})
    assert all(map(torch.equal, couple_first(recipe, reference, x0, x1, draws), (x0, x1)))


def test_ddsbm_learns_the_bridge():
    bridge = Bridge()
    options = {**TRAINED, "updates_first": 80, "updates_later": 50, "imf_iterations": 2,
               "initial": "independent"}  # fmt: skip
    model = DDSBM(small_network(), small_reference(), **options).fit(*bridge.rows(20_000))
    assert bridge.kl(joint_law(model)) < 0.1
    back = joint_law(model.reversed())
    assert np.abs(bridge.p1 @ back - bridge.p0).sum() < 0.5 < np.abs(bridge.p1 - bridge.p0).sum()


def elementary(reference):
    states = torch.arange(reference.num_categories)
    one = Reference(reference.kind, {**reference._process, "total_steps": 1}, 1)
    return one.log_prob(states[:, None], states[None]).exp()


def continuous_references(num_steps, total_steps, gamma):
    draws = torch.Generator().manual_seed(2)
    matrix = torch.rand(6, 6, dtype=torch.float64, generator=draws) + 0.05
    left, right = torch.rand(2, 6, 2, dtype=torch.float64, generator=draws)
    steps = {"num_steps": num_steps, "total_steps": total_steps}
    return [
        Reference.uniform(6, gamma, **steps),
        Reference.gaussian(6, 0.3 if gamma > 0.1 else 0.15, **steps),
        Reference.matrix(matrix / matrix.sum(1, keepdim=True), **steps),
        Reference.low_rank(1 - gamma, left / (left @ right.sum(0))[:, None], right, **steps),
    ]


def test_laws_in_continuous_time():
    """exp(total_steps (P - I) n / num_steps), in both directions."""
    states = torch.arange(6)
    for reference in continuous_references(4, 8, 0.3):
        for told in (reference, reference.reversed()):
            made = ContinuousReference(told)
            generator = elementary(told) - torch.eye(6)
            for n in (1, 3, 4):
                expected = torch.matrix_exp(2 * n * generator)
                law = made.log_prob(states[:, None], states[None], n).exp()
                assert torch.allclose(law, expected, rtol=1e-10, atol=1e-14)
        turned = ContinuousReference(reference).reversed()
        assert torch.allclose(
            turned.log_prob(states[:, None], states[None]),
            ContinuousReference(reference.reversed()).log_prob(states[:, None], states[None]),
        )


def test_laws_in_continuous_time_keep_their_tails():
    """Far states need many jumps: sums over a Poisson number of them, in the log domain."""
    reference = Reference.gaussian(30, 0.02, num_steps=16)
    law = ContinuousReference(reference).log_prob(torch.zeros(30, 1), torch.arange(30)[:, None], 1)
    power = torch.eye(30, dtype=torch.float64)[:1]
    total = torch.zeros(1, 30, dtype=torch.float64)
    for j in range(120):
        total += power * math.exp(j * math.log(8.0) - 8.0 - math.lgamma(j + 1.0))
        power = power @ elementary(reference)
    assert float(law.min()) < -100
    assert torch.allclose(law[:, 0], total[0].log(), rtol=1e-9)


def test_rates_are_those_of_the_steered_chain():
    """total_steps P[x,y] h(y) / h(x) for a step's share of time, h by matrix exponentials."""
    for reference in continuous_references(4, 8, 0.3):
        made, table = ContinuousReference(reference), elementary(reference)
        x, x1, logits = points(reference)
        for n in range(4):
            law = torch.matrix_exp(2 * (4 - n) * (table - torch.eye(6)))
            for told, h in (
                (made.pinned_log_rates(x, n, x1), law[:, x1].permute(1, 2, 0)),
                (made.log_rates(x, n, logits), logits.softmax(-1) @ law.T),
            ):
                expected = 2 * table[x] * h / h.gather(-1, x.unsqueeze(-1))
                expected.scatter_(-1, x.unsqueeze(-1), 0.0)
                assert torch.allclose(told.exp(), expected, rtol=1e-9, atol=1e-14)


def points(reference, rows=64):
    draws = torch.Generator().manual_seed(1)
    x, x1 = torch.randint(6, (2, rows, 3), generator=draws)
    return x, x1, torch.randn(rows, 3, 6, dtype=torch.float64, generator=draws)


@pytest.mark.parametrize("kind", [0, 1, 3], ids=["uniform", "gaussian", "low-rank"])
def test_ddsbm_becomes_csbm_as_steps_grow_short(kind):
    """KL of rates is the limit of the KL of steps, and a leap that of a step: both at rate 1/N."""
    losses, moves = [], []
    for num_steps in (16, 64, 256, 1024):
        reference = continuous_references(num_steps, 1024, 0.002)[kind]
        made = ContinuousReference(reference)
        x, x1, logits = points(reference)
        n = num_steps // 2
        of_steps = made.step_kl(x, n, logits, x1).sum()
        losses.append(abs(float(made.rate_kl(x, n, logits, x1).sum() / of_steps) - 1))
        step, leap = made.step(x, n, logits).exp(), made.leap(x, n, logits).exp()
        assert torch.allclose(leap.sum(-1), torch.ones(1, dtype=torch.float64))
        moved = 1 - leap.gather(-1, x.unsqueeze(-1))
        moves.append(float((step - leap).abs().sum() / moved.sum()))
    for differences in (losses, moves):
        assert all(a > 3.5 * b for a, b in zip(differences, differences[1:]))
        assert differences[-1] < 0.003
    if kind == 0:  # docs/torch.md has these
        assert losses == pytest.approx([0.147, 0.039, 0.0097, 0.0024], rel=0.02)


def test_ddsbm_and_csbm_have_one_minimum():
    """At the true weights of the clean end no loss has a gradient, on any number of steps."""
    reference = ContinuousReference(small_reference())
    posterior = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    ends, x, n = torch.arange(SIZE)[:, None], torch.full((SIZE, 1), 1), 3
    entries = reference.log_prob(x[:1], ends, STEPS - n)[:, 0]
    for loss in (reference.rate_kl, reference.step_kl):
        logits = (posterior.log() - entries).requires_grad_()
        rows = logits.expand(SIZE, 1, SIZE)
        (posterior * loss(x, n, rows, ends)[:, 0]).sum().backward()
        assert float(logits.grad.abs().max()) < 1e-14
        wrong = (posterior.log() + entries).requires_grad_()
        (posterior * loss(x, n, wrong.expand(SIZE, 1, SIZE), ends)[:, 0]).sum().backward()
        assert float(wrong.grad.abs().max()) > 1e-4


def test_leaps_keep_rates():
    reference = ContinuousReference(small_reference())
    x, logits = torch.tensor([[2, 0]]), torch.zeros(1, 2, SIZE, dtype=torch.float64)
    rates = reference.log_rates(x, 1, logits).exp()
    assert torch.allclose(rates[0, 0], torch.tensor([2.0, 2.0, 0.0, 2.0]).double() * 0.04 / 3)
    law = reference.leap(x, 1, logits).exp()[0, 0]
    assert abs(float(law[2]) - math.exp(-0.08)) < 1e-12
    drawn = reference.leap_sample(
        x.expand(60_000, 2), 1, logits.expand(60_000, 2, SIZE), torch.Generator().manual_seed(1)
    )
    found = torch.bincount(drawn[:, 0], minlength=SIZE) / 60_000
    assert float(60_000 * ((found - law) ** 2 / law).sum()) < 35.0  # of 3 degrees


@pytest.mark.parametrize("kind", [AutoregressiveBridge, DDSBM, FlowMatching])
def test_gradients_of_losses(kind):
    model = kind(small_network(dim=3), small_reference())
    model._about["dim"] = "3"
    matching = model._matching("forward")
    generator = torch.Generator().manual_seed(1)
    start, end = torch.randint(SIZE, (2, 6, 3), generator=generator)
    x, n, end = matching.draw_points(start, end, 2, generator)
    logits = torch.randn(len(x), 3, SIZE, dtype=torch.float64, generator=generator)
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda z: matching.losses(x, n, z, end), logits)


def test_the_loss_of_a_plan_has_the_gradient_of_its_objective():
    """Summed over all ends; at the bridge and its potential it is 0 where the bridge is a plan."""
    draws = torch.Generator().manual_seed(2)
    logits = torch.randn(1, 2, SIZE, dtype=torch.float64, generator=draws).requires_grad_()
    advantage = torch.randn(len(STATES), dtype=torch.float64, generator=draws)
    law = logits.log_softmax(-1)
    of_states = law[0, 0, STATES[:, 0]] + law[0, 1, STATES[:, 1]]
    objective = (of_states.exp() * (advantage + 0.7 * of_states)).sum()
    (expected,) = torch.autograd.grad(objective, logits, retain_graph=True)
    losses = [
        cnot_module.plan_loss(law, STATES[i : i + 1], advantage[i : i + 1], 0.7)
        for i in range(len(STATES))
    ]
    (found,) = torch.autograd.grad((of_states.exp().detach() * torch.stack(losses)).sum(), logits)
    assert torch.allclose(found, expected, rtol=0, atol=1e-14)
    value, ends = torch.randn(SIZE, dtype=torch.float64, generator=draws), torch.arange(SIZE)
    cost = -small_reference().log_prob(torch.tensor(1), ends)
    for share, least in ((1.0, True), (0.5, False)):
        told = (share * value - cost).requires_grad_()
        law = told.log_softmax(-1).view(1, 1, SIZE)
        losses = [
            cnot_module.plan_loss(law, ends[i].view(1, 1), (cost - value)[i : i + 1], 1.0)
            for i in range(SIZE)
        ]
        total = (law.view(-1).exp().detach() * torch.stack(losses)).sum()
        (gradient,) = torch.autograd.grad(total, told)
        assert (float(gradient.abs().max()) < 1e-14) == least


def test_the_loss_of_a_potential():
    """A linear one has the same gradient everywhere, so that its penalty is known."""
    potential = networks.Potential(2, SIZE, (), 3).double()
    drawn, data = torch.randint(SIZE, (2, 5, 2), generator=torch.Generator().manual_seed(1))
    values = [potential(potential.embed(x)).mean() for x in (drawn, data)]
    norm = potential.layers[0].weight.norm()
    draws = torch.Generator().manual_seed(1)
    for penalty in (0.0, 10.0):
        loss = cnot_module.potential_loss(potential, drawn, data, penalty, draws)
        expected = values[0] - values[1] + penalty * (norm - 1.0) ** 2
        assert abs(float(loss - expected)) < 1e-6
    loss.backward()
    assert float(potential.layers[0].weight.grad.norm()) > 0.1


def test_cnot_learns_a_bridge_of_coordinates_apart():
    bridge = Bridge(apart=True)
    options = {"updates": 600, "plan_updates": 4, "batch_size": 128, "learning_rate": 0.01,
               "potential_rate": 0.005, "penalty_until": 0, "schedule": "cosine"}  # fmt: skip
    model = made(CNOT, options).fit(*bridge.rows(20_000))
    law = joint_law(model)
    assert bridge.kl(law) < 0.11 < 0.16 < bridge.kl(np.tile(bridge.p1, (len(STATES), 1)))
    assert np.abs(bridge.p0 @ law - bridge.p1).sum() < 0.5 < np.abs(bridge.p1 - bridge.p0).sum()
    marginals = model.log_marginals(STATES)
    both = marginals[:, 0, STATES[:, 0]] + marginals[:, 1, STATES[:, 1]]
    assert np.allclose(both.exp(), law, rtol=1e-5)


def test_a_plan_needs_a_potential_and_its_own_options():
    with pytest.raises(ValueError, match="potential must be a torch.nn.Module for fit, got None"):
        CNOT(small_network(), small_reference()).fit(*Bridge().rows(20))
    with pytest.raises(TypeError, match="potential must be a torch.nn.Module, got int"):
        CNOT(small_network(), small_reference(), potential=3)
    for wrong, says in (
        ({"holdout": 0.1}, "unknown option holdout"),
        ({"plan_updates": 0}, "plan_updates must be a whole number of at least 1, got 0"),
        ({"penalty": -1.0}, "penalty must be at least 0, got -1.0"),
    ):
        with pytest.raises(ValueError, match=says):
            CNOT(small_network(), small_reference(), **wrong)
