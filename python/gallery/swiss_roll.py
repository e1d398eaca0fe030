"""A cloud becomes a swiss roll: data to data in the plane."""

# %% [markdown]
# # A cloud becomes a swiss roll
# Two sets of points in the plane, put on a grid of 50 x 50 cells: D = 2, S = 50. Only the points
# and a reference process are given; the bridge moves each point of the cloud to the roll, and not
# further than it must.

# %%
import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import bridgemark as bm

S = 50
random = np.random.default_rng(0)


def on_grid(points):
    return np.clip(np.round(points), 0, S - 1).astype(np.int32)


def cloud(rows):
    return on_grid(random.normal(S / 2, 5.0, (rows, 2)))


def swiss_roll(rows):
    angle = 1.5 * np.pi * (1 + 2 * random.random(rows))
    roll = 1.55 * np.stack([angle * np.cos(angle), angle * np.sin(angle)], axis=1)
    return on_grid(S / 2 + roll + random.normal(0, 0.5, roll.shape))


x0, x1 = cloud(5000), swiss_roll(5000)

# %% [markdown]
# Each component of DLightSB's potential is a patch of the plane; some hundreds of them follow the
# roll. `history` shows whether the training has come to rest.

# %%
solver = bm.DLightSB(components=500, updates=1000).fit(x0, x1, gamma=0.02, num_categories=S)
print(solver.coupling)
history = solver.history
print("loss:", dict(zip(history["update"][::10].tolist(), history["loss"][::10].round(3).tolist())))

# %% [markdown]
# How much of what it draws lies on the roll, beside the roll itself, and how far points travel,
# beside points that are paired at random.

# %%
fresh0, fresh1 = cloud(5000), swiss_roll(5000)
drawn = solver.sample(fresh0, seed=1)
cells = np.zeros((S, S), bool)
cells[tuple(swiss_roll(200_000).T)] = True


def on_the_roll(x):
    return cells[tuple(x.T)].mean()


def distance(a, b):
    return np.linalg.norm(a - b, axis=1).mean()


print(f"on the roll: {on_the_roll(drawn):.3f}; the roll itself {on_the_roll(fresh1):.3f}, "
      f"the cloud {on_the_roll(fresh0):.3f}")  # fmt: skip
print(f"cells travelled: {distance(fresh0, drawn):.1f}; at random {distance(fresh0, fresh1):.1f}")
assert on_the_roll(drawn) > 0.9
assert distance(fresh0, drawn) < 0.85 * distance(fresh0, fresh1)

# %%
figure, axes = plt.subplots(1, 4, figsize=(17, 4.4), layout="constrained")
bm.plot_samples(lambda x: fresh1[: len(x)], fresh0[:2000], ax=axes[0]).set_title("data")
bm.plot_samples(solver, fresh0[:2000], seed=2, ax=axes[1]).set_title("DLightSB")
bm.plot_trajectories(solver, fresh0[:6], seed=3, ax=axes[2]).set_title("paths, 16 steps")
axes[3].plot(history["update"], history["loss"], color="#4c72b0")
axes[3].set(xlabel="update", ylabel="loss", title="training")
axes[3].set_box_aspect(1)
for axis in axes[:3]:  # the same scale
    axis.set(xlim=(-0.5, S - 0.5), ylim=(-0.5, S - 0.5))
figure.savefig("swiss-roll.png", dpi=120)
if matplotlib.get_backend().lower() != "agg":
    plt.show()
