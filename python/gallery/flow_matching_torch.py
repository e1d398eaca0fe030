"""A discrete flow matching model in torch, scored with KLs."""

# %% [markdown]
# # Discrete flow matching
# A flow matching model learns to guess x1 from a state x_n on the way from x0 to x1, and then walks
# that way in steps. Here the path is the uniform one: between its ends a coordinate is x0's
# category, x1's, or any, which is the pair's reference process pinned at both ends. Two things
# decide whether the model is a Schrödinger bridge: this path, and which x0 and x1 it is shown
# together.

# %%
import sys
import time

import bridgemark as bm

try:
    import torch
    from bridgemark.torch import Reference
except ImportError:
    print("SKIPPED: this example needs torch, which is not installed")
    sys.exit(0)

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
pair = bm.load("d2-uniform-0.01-spread")
D, S, N = pair.dim, pair.num_categories, 16  # steps of the walk, which divide pair.total_steps
reference = Reference.of(pair, num_steps=N)

# %% [markdown]
# The reference draws where the path is after n steps given its ends (`pinned_sample`). From logits
# of x1 it makes what they say of x1 given x_n (`clean_end`), and where the path goes next (`step`):
# one product with the reference, and no table over states, ends and steps.


# %%
class Denoiser(torch.nn.Module):
    """Logits of x1^d given x_n, each coordinate by itself: [B,D,S]."""

    def __init__(self, width=256):
        super().__init__()
        self.states = torch.nn.ModuleList(torch.nn.Embedding(S, width) for _ in range(D))
        self.time = torch.nn.Embedding(N, width)
        self.body = torch.nn.Sequential(
            torch.nn.ReLU(),
            torch.nn.Linear(width, width),
            torch.nn.ReLU(),
            torch.nn.Linear(width, D * S),
        )

    def forward(self, x, n):
        h = sum(e(x[:, d]) for d, e in enumerate(self.states)) + self.time(n)
        return self.body(h).view(-1, D, S)


# %% [markdown]
# Which x0 and x1 belong together: those of the entropic transport plan between two batches, by
# Sinkhorn's iterations over the reference. With independent pairs instead the model would reach p1
# all the same, but not by the bridge.


# %%
def paired(x0, x1, bridge):
    if not bridge:
        return x1
    log_k = sum(reference.log_prob(x0[:, d, None], x1[:, d]) for d in range(D))
    a = torch.zeros(len(x0), 1, device=device)
    for _ in range(10):
        b = -(log_k + a).logsumexp(0, keepdim=True)
        a = -(log_k + b).logsumexp(1, keepdim=True)
    plan = (log_k + a + b).softmax(1)
    return x1[torch.multinomial(plan, 1).squeeze(1)]


def train(bridge, updates=600, rows=256):
    model = Denoiser().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, updates)
    for update in range(updates):
        x0 = torch.as_tensor(pair.sample_x0(rows), device=device).long()
        x1 = torch.as_tensor(pair.sample_x1(rows), device=device).long()
        x1 = paired(x0, x1, bridge)
        n = torch.randint(N, (rows,), device=device)
        x = reference.pinned_sample(x0, x1, n)
        loss = -reference.clean_end(x, n, model(x, n)).gather(-1, x1[..., None]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model


# %% [markdown]
# The model as a coupling. Its steps factorise given x_n, so `num_steps` and
# `log_transition_marginals` say all about its trajectories: both trajectory KLs and an upper bound
# of the joint KL are its.


# %%
class FlowMatching:
    num_steps = N

    def __init__(self, model):
        self.model = model

    @torch.no_grad()
    def log_transition_marginals(self, x, num_steps, n):
        x = x.long()
        steps = torch.full((len(x),), n, device=device)
        return reference.step(x, n, self.model(x, steps).double())

    def sample(self, x0, seed):
        torch.manual_seed(seed)
        x = x0
        for n in range(N):
            law = self.log_transition_marginals(x, N, n)
            x = torch.multinomial(law.exp().view(-1, S), 1).view(x.shape)
        return x


example = torch.empty(0, device=device)
results = []
for label, bridge in (("flow, paired by Sinkhorn", True), ("flow, paired at random", False)):
    started = time.perf_counter()
    flow = FlowMatching(train(bridge))
    print(f"{label}: {time.perf_counter() - started:.0f} s", flush=True)
    result = bm.evaluate(
        pair, flow, like=example, label=label, conditional_samples=250, particles=16
    )
    results.append(result)
print(results[0])

# %% [markdown]
# Beside the ceiling and the floors, with 250 conditional draws each for speed. The trajectory KLs
# sum over steps and coordinates, in nats.

# %%
for solver in (bm.Oracle(), bm.Independent(), bm.Reference()):
    results.append(bm.evaluate(pair, solver.fit(pair), conditional_samples=250))
scores = (
    "shape_score",
    "conditional_shape_score",
    "forward_trajectory_kl",
    "reverse_trajectory_kl",
)
print(bm.compare(results, *scores))
flow, at_random, oracle, independent = results[:4]
assert flow["conditional_shape_score"] > independent["conditional_shape_score"] + 0.1
assert flow["conditional_shape_score"] > at_random["conditional_shape_score"]
assert flow["forward_trajectory_kl"] < at_random["forward_trajectory_kl"]
