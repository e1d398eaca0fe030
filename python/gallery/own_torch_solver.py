"""Bring your own torch solver and score it."""

# %% [markdown]
# # A solver of your own, in torch
# The benchmark scores any callable x0 -> x1, and any object with `sample(x0, seed)`; one that knows
# its probabilities gets the exact scores and the KLs as well. Here it is a network that learns the
# potential v of the bridge, q(x1|x0) = v(x1) q_ref(x1|x0) / c(x0), from unpaired samples: with two
# coordinates of 50 categories all 2500 x1 fit into one softmax, and c(x0) is its normaliser.

# %%
import sys
import time

import bridgemark as bm

try:
    import torch
except ImportError:
    print("SKIPPED: this example needs torch, which is not installed")
    sys.exit(0)

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
pair = bm.load("d2-gaussian-0.02-spread")
D, S = pair.dim, pair.num_categories
grid = torch.cartesian_prod(*[torch.arange(S)] * D).to(device)  # [S^D, D], every state
log_ref = torch.as_tensor(pair.log_reference(pair.total_steps), dtype=torch.float32, device=device)


# %%
class Potential(torch.nn.Module):
    """log v of states [B,D]: an embedding of each coordinate's category, then a network."""

    def __init__(self, width=128):
        super().__init__()
        self.embeddings = torch.nn.ModuleList(torch.nn.Embedding(S, width) for _ in range(D))
        self.body = torch.nn.Sequential(
            torch.nn.ReLU(),
            torch.nn.Linear(width, width),
            torch.nn.ReLU(),
            torch.nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.body(sum(e(x[:, d]) for d, e in enumerate(self.embeddings))).squeeze(-1)


def log_reference(x0):
    """log q_ref(x1|x0) of each x0 [B,D] to every state: [B,S^D]."""
    return sum(log_ref[x0[:, d]][:, grid[:, d]] for d in range(D))


# %% [markdown]
# The loss, E log c(x0) - E log v(x1) over unpaired x0 and x1, has its minimum at the bridge. Draws
# without a seed are fresh each time: each update has rows of its own.


# %%
def batch(draw, rows=256):
    return torch.as_tensor(draw(rows), device=device).long()


potential = Potential().to(device)
updates = 800
optimizer = torch.optim.Adam(potential.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, updates)
started = time.perf_counter()
for update in range(updates):
    x0, x1 = batch(pair.sample_x0), batch(pair.sample_x1)
    log_v = potential(grid)
    log_c = (log_reference(x0) + log_v).logsumexp(1)
    index = sum(x1[:, d] * S ** (D - 1 - d) for d in range(D))
    loss = log_c.mean() - log_v[index].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
print(f"loss {loss.item():.3f} after {time.perf_counter() - started:.0f} s")


# %% [markdown]
# The solver as an object. With `like=` its arrays are torch tensors on the device of the example,
# and what it returns stays torch. `sample` would be enough; the two others earn the exact
# conditional score and the joint KL.


# %%
class TorchSolver:
    def __init__(self, potential):
        with torch.no_grad():
            self.log_v = potential(grid)

    def log_joint(self, x0):
        return (log_reference(x0.long()) + self.log_v).log_softmax(1)  # [B,S^D]

    def sample(self, x0, seed):
        assert isinstance(x0, torch.Tensor) and x0.device.type == device
        torch.manual_seed(seed)
        drawn = [torch.multinomial(self.log_joint(part).exp(), 1) for part in x0.split(2000)]
        return grid[torch.cat(drawn).squeeze(1)]

    def log_marginals(self, x0):
        joint = self.log_joint(x0).view(-1, *[S] * D)
        others = [[1 + e for e in range(D) if e != d] for d in range(D)]
        return torch.stack([joint.logsumexp(dims) for dims in others], dim=1)

    def log_conditional(self, x0, x1):
        index = sum(x1[:, d].long() * S ** (D - 1 - d) for d in range(D))
        parts = zip(x0.split(2000), index.split(2000))
        return torch.cat([self.log_joint(x).gather(1, i[:, None]).squeeze(1) for x, i in parts])


solver = TorchSolver(potential)
result = bm.evaluate(pair, solver, like=torch.empty(0, device=device), label="own, in torch")
print(result)

# %% [markdown]
# Beside it, the ceiling and two floors. Independent draws x1 without looking at x0.

# %%
results = [result] + [
    bm.evaluate(pair, other.fit(pair)) for other in (bm.Oracle(), bm.Independent(), bm.Reference())
]
print(bm.compare(results, "conditional_shape_score", "conditional_trend_score", "joint_kl"))
ceiling, floor = results[1], results[2]
assert result["conditional_shape_score"] > floor["conditional_shape_score"] + 0.3
assert result["conditional_shape_score"] > ceiling["conditional_shape_score"] - 0.06
assert result["joint_kl"] < 0.1

# %% [markdown]
# A torch tensor in gives a torch tensor out of the pair, too.

# %%
truth = pair.sample_conditional(torch.zeros(3, D, dtype=torch.int64, device=device), seed=1)
assert isinstance(truth, torch.Tensor) and truth.device.type == device
