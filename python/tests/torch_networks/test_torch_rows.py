"""Other solvers of bridgemark.torch: laws by enumeration, what they learn, their files."""

import contextlib
import itertools
import math

import numpy as np
import pytest
from tiny_bridge import (
    SIZE,
    STATES,
    STEPS,
    TRAINED,
    Bridge,
    joint_law,
    small_network,
    small_reference,
)

import bridgemark as bm

torch = pytest.importorskip("torch", reason="torch is not installed")
from bridgemark.torch import (  # noqa: E402
    CNOT,
    DDSBM,
    AutoregressiveBridge,
    FlowMatching,
    Recipe,
    Reference,
    load,
    networks,
)
from bridgemark.torch._data import couple_first  # noqa: E402
from bridgemark.torch.autoregressive import CoordinateMatching  # noqa: E402
from bridgemark.torch.flow_matching import MixtureMatching  # noqa: E402

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


def exact_network(**others):
    """In float64: in float32 a row's product may depend on the rows beside it, by 1e-9."""
    return small_network(**others).double()


def made(kind, options, seed=0, network=small_network):
    network = network(seed=seed)
    if kind is CNOT:
        options = {**options, "potential": networks.Potential(2, SIZE, (16,), 4)}
    return kind(network, small_reference(), **options)


def directions(model):
    return [model, model.reversed()] if hasattr(model, "reversed") else [model]


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
    model = made(kind, options, network=exact_network).fit(*Bridge().rows(99))
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
        exact_network(dim=3), small_reference(), order=order, **FAST, **IMF
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
