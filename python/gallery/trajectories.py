"""Train DLightSB and look at its trajectories beside the truth's."""

# %% [markdown]
# # Trajectories
# The figures of the paper: samples of p0 and p1, and paths from one to the other. Above two
# dimensions they are seen through the first two principal components of both ends.

# %%
import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import bridgemark as bm

SHOWN = 400  # samples of each end


class Plane:
    """Coordinates in a figure: the states themselves for D = 2, else two principal components."""

    def __init__(self, pair):
        states = np.concatenate(pair.test_set()).astype(float)
        self.projected = pair.dim > 2
        self.centre = states.mean(0)
        self.axes = np.linalg.svd(np.cov((states - self.centre).T))[0][:, :2]

    def __call__(self, x):
        x = np.asarray(x, dtype=float)
        return (x - self.centre) @ self.axes if self.projected else x


def show_samples(axis, plane, x0, x1, title):
    for x, name, colour in ((x0, "$p_0$", "lightgray"), (x1, "$p_1$", "salmon")):
        axis.scatter(*plane(x).T, s=14, color=colour, edgecolor="black", linewidth=0.3, label=name)
    axis.set_title(title)
    axis.set_xticks([])
    axis.set_yticks([])


def show_paths(axis, plane, paths):
    for path in plane(paths):
        axis.plot(*path.T, color="black", linewidth=1.0, alpha=0.7)
    starts, ends = plane(paths[:, 0]), plane(paths[:, -1])
    axis.scatter(*starts.T, s=40, color="limegreen", edgecolor="black", zorder=3, label="$x_0$")
    axis.scatter(*ends.T, s=25, color="gold", edgecolor="black", zorder=3, label="$x_1$")


def figure_of(name, components, updates):
    pair = bm.load(name)
    solver = bm.DLightSB(components=components).fit(pair, updates=updates, seed=1)
    plane = Plane(pair)
    x0, x1 = pair.sample_x0(SHOWN, seed=5), pair.sample_x1(SHOWN, seed=6)
    starts = np.repeat(pair.test_set()[0][:4], 4, axis=0)  # 4 points, 4 paths from each
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharex=True, sharey=True)
    show_samples(axes[0], plane, x0, solver.sample(x0, seed=7), f"{name}: DLightSB")
    show_samples(axes[1], plane, x0, x1, "truth, 16 steps")
    show_paths(axes[1], plane, pair.sample_trajectory(starts, num_steps=16, seed=8))
    show_samples(axes[2], plane, x0, x1, "DLightSB, 16 steps")
    show_paths(axes[2], plane, solver.sample_trajectory(starts, num_steps=16, seed=8))
    axes[1].legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncol=4, fontsize=8)
    figure.tight_layout()
    figure.savefig(f"{name}.png", dpi=120)
    return bm.evaluate(pair, solver)


# %% [markdown]
# Two dimensions: the states are the picture.

# %%
two = figure_of("d2-gaussian-0.02", components=100, updates=1000)
print(two)
assert two["forward_trajectory_kl"] < 0.5

# %% [markdown]
# Sixteen dimensions, seen through principal components. A few hundred updates show the way; the
# published training takes 100,000.

# %%
sixteen = figure_of("d16-gaussian-0.02", components=50, updates=400)
print(sixteen)
if matplotlib.get_backend().lower() != "agg":
    plt.show()
