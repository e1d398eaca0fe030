"""A training loop of one's own around a torch network, scored with its joint KL."""

# %% [markdown]
# # A training loop of one's own
# `bridgemark.torch.CSBM` has a training loop. This page has none of it: the operations of the
# reference are enough for bridge matching in whatever loop, optimiser and precision you have. The
# pairs here are batches of x0 and x1 drawn at random, so what is learned is one projection of D-IMF
# and not yet the bridge.

# %%
import sys

import bridgemark as bm

try:
    import torch
    from bridgemark.torch import NetworkCoupling, Reference, networks
except ImportError:
    print("SKIPPED: this example needs torch, which is not installed")
    sys.exit(0)

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
pair = bm.load("d2-gaussian-0.02-spread")
reference = Reference.of(pair, num_steps=16)
network = networks.MLP(pair.dim, pair.num_categories, 16, hidden=(128, 128)).to(device)

# %% [markdown]
# A point of the path between x0 and x1 after n steps, the network's logits there, and the KL from
# the step that is pinned to x1 to the step that the logits make.

# %%
updates, rows = 1200, 512
optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, updates)
for update in range(updates):
    x0, x1 = (torch.as_tensor(end, device=device) for end in next(pair.batches(rows, seed=update)))
    n = torch.randint(16, (rows,), device=device)
    x = reference.pinned_sample(x0, x1, n)
    loss = reference.step_kl(x, n, network(x, n), x1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
print(f"loss {loss.item():.4f}")

# %% [markdown]
# The network over the reference is a coupling, which `evaluate` scores like any solver.

# %%
model = NetworkCoupling(network.eval(), reference, device=device)
result = bm.evaluate(pair, model, label="own loop", conditional_samples=250, particles=16)
print(result)
floor = bm.evaluate(pair, bm.Reference().fit(pair), conditional_samples=250)
assert result["shape_score"] > floor["shape_score"] + 0.1
assert result["joint_kl"] < floor["joint_kl"]
