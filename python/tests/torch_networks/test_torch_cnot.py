"""CNOT: the losses of a plan and of its potential, what it learns, what it refuses."""

import numpy as np
import pytest
from tiny_bridge import SIZE, STATES, Bridge, joint_law, small_network, small_reference

torch = pytest.importorskip("torch", reason="torch is not installed")
from bridgemark.torch import CNOT, networks  # noqa: E402
from bridgemark.torch import cnot as cnot_module  # noqa: E402


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
    potential = networks.Potential(2, SIZE, (16,), 4)
    model = CNOT(small_network(), small_reference(), potential=potential, **options)
    model.fit(*bridge.rows(20_000))
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
