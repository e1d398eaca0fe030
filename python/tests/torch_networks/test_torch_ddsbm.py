"""DDSBM: laws and rates in continuous time, its losses beside CSBM's, what it learns."""

import math

import numpy as np
import pytest
from tiny_bridge import SIZE, STEPS, TRAINED, Bridge, joint_law, small_network, small_reference

torch = pytest.importorskip("torch", reason="torch is not installed")
from bridgemark.torch import DDSBM, ContinuousReference, Reference  # noqa: E402


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
