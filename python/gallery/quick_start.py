"""Quick start: a pair, its truth, a solver, its score."""

# %% [markdown]
# # Quick start
# A benchmark pair is two distributions p0 and p1 on {0..S-1}^D whose Schrödinger bridge is known
# exactly. A solver may train on unpaired samples of both ends; its answers are then measured
# against the truth.

# %%
import numpy as np

import bridgemark as bm

print(bm.presets())
pair = bm.load("d2-gaussian-0.02")
print(pair)

# %% [markdown]
# What a solver may see: independent draws of the two ends.

# %%
x0, x1 = pair.sample_x0(512, seed=1), pair.sample_x1(512, seed=2)
print(x0.shape, x0.dtype, x0[:3].tolist(), x1[:3].tolist())

# %% [markdown]
# What only the benchmark knows: draws of the true bridge, its exact probabilities, its
# trajectories.

# %%
y = pair.sample_conditional(x0, seed=3)
print("log q*(y | x0):", pair.log_conditional(x0, y)[:3].round(2))
marginals = np.exp(pair.log_marginals(x0[:1]))[0]  # [D,S]
print("most likely x1 from", x0[0].tolist(), "by coordinate:", marginals.argmax(1).tolist())
print("a trajectory:", pair.sample_trajectory(x0[:1], num_steps=8, seed=4)[0].tolist())

# %% [markdown]
# Train a solver and score it. The Oracle is the truth scored as if it were a solver: the ceiling
# that sampling noise leaves.

# %%
solver = bm.DLightSB(components=200).fit(pair, updates=1000)
result = bm.evaluate(pair, solver)
oracle = bm.evaluate(pair, bm.Oracle().fit(pair))
print(result)
print(bm.compare([result, oracle], "conditional_shape_score", "joint_kl"))
assert result["joint_kl"] < 0.5  # nats; the reference process alone is at 21

# %% [markdown]
# Keep it and load it again; the command line reads the same folder
# (`bridgemark evaluate d2-gaussian-0.02 --run quick_start_run`).

# %%
solver.save("quick_start_run")
again = bm.load_solver("quick_start_run")
assert np.array_equal(again.sample(x0, seed=5), solver.sample(x0, seed=5))
