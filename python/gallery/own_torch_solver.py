"""Bring your own torch solver and score it."""

# %% [markdown]
# # A solver of your own, in torch
# The benchmark scores any callable x0 -> x1. Here it is a small network that gives each
# coordinate of x1 a distribution given x0. It is trained on minibatches paired by the cheapest
# assignment: a crude stand-in for the bridge, whose score shows how far it is from one.

# %%
import sys

import bridgemark as bm

try:
    import torch
except ImportError:
    print("SKIPPED: this example needs torch, which is not installed")
    sys.exit(0)

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
pair = bm.load("d2-gaussian-0.05")
D, S = pair.dim, pair.num_categories


# %% [markdown]
# Training data come from the pair as NumPy arrays; everything else is torch.


# %%
def batch(seed, rows=256):
    x0 = torch.as_tensor(pair.sample_x0(rows, seed=seed), device=device)
    x1 = torch.as_tensor(pair.sample_x1(rows, seed=seed), device=device)
    return x0.long(), x1.long()


def assign(x0, x1):
    """Pairs each x0 with a free x1 nearby, the closest pairs first."""
    distance = torch.cdist(x0.float(), x1.float()).cpu()
    order = distance.flatten().argsort()
    partner = torch.full((len(x0),), -1)
    taken = torch.zeros(len(x1), dtype=torch.bool)
    for flat in order.tolist():
        i, j = divmod(flat, len(x1))
        if partner[i] < 0 and not taken[j]:
            partner[i], taken[j] = j, True
    return x1[partner.to(x1.device)]


network = torch.nn.Sequential(
    torch.nn.Linear(D, 128),
    torch.nn.ReLU(),
    torch.nn.Linear(128, 128),
    torch.nn.ReLU(),
    torch.nn.Linear(128, D * S),
).to(device)


def logits(x0):
    return network(x0.float() / S - 0.5).view(-1, D, S)


# %%
optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
data = [(x0, assign(x0, x1)) for x0, x1 in (batch(seed, rows=128) for seed in range(20))]
for update in range(400):
    x0, x1 = data[update % len(data)]
    loss = torch.nn.functional.cross_entropy(logits(x0).flatten(0, 1), x1.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")


# %% [markdown]
# The callable. With `like=` its x0 is a torch tensor on the device of the example, and what it
# returns stays torch: nothing else is needed to score it.


# %%
@torch.no_grad()
def my_solver(x0):
    assert isinstance(x0, torch.Tensor) and x0.device.type == device
    probabilities = logits(x0).softmax(-1)
    return torch.multinomial(probabilities.flatten(0, 1), 1).view(-1, D)


example = torch.empty(0, device=device)
result = bm.evaluate(pair, my_solver, like=example)
print(result)

# %% [markdown]
# Beside it, the ceiling and two floors. A torch tensor in gives a torch tensor out here, too.

# %%
results = [result] + [
    bm.evaluate(pair, solver.fit(pair))
    for solver in (bm.Oracle(), bm.Independent(), bm.Reference())
]
print(bm.compare(results, "shape_score", "conditional_shape_score", "conditional_trend_score"))
truth = pair.sample_conditional(torch.zeros(3, D, dtype=torch.int64, device=device), seed=1)
assert isinstance(truth, torch.Tensor) and truth.device.type == device
assert result["conditional_shape_score"] > results[3]["conditional_shape_score"]
