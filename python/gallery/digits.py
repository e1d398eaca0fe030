"""Turn handwritten threes into eights: data to data, with no benchmark pair in sight."""

# %% [markdown]
# # Threes to eights
# A Schrödinger bridge between two sets of pictures of your own. Nothing but the two sets and a
# reference process is given; there is no truth to score against, so we look.

# %%
import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import bridgemark as bm

try:
    from sklearn.datasets import load_digits
except ImportError:
    raise SystemExit(
        print("SKIPPED scikit-learn is not installed: it brings the pictures")
    ) from None

# %% [markdown]
# scikit-learn's digits are 8 x 8 pixels of 17 grey levels: states of 64 coordinates with 17
# categories each, as they are.

# %%
pictures, labels = load_digits(return_X_y=True)
pictures = pictures.astype(np.int32)
threes, eights = pictures[labels == 3], pictures[labels == 8]
print(f"{len(threes)} threes, {len(eights)} eights, grey levels 0 to {pictures.max()}")

# %% [markdown]
# A Gaussian reference moves a pixel to nearby grey levels. Its gamma says how much of x0 is kept:
# large, and x1 is just any eight; small, and the pen strokes stay where they are. Without `gamma`
# one that fits the 17 levels is chosen, and the coupling says which. Pictures like those that were
# seen are what is wanted here, so no rows are held out: with the default `holdout` a few components
# are chosen, which are nearer to the bridge of all threes and eights and draw blurred ones.

# %%
solver = bm.DLightSB(components=200, updates=500, holdout=0).fit(threes, eights, num_categories=17)
print(solver.coupling)
turned = solver.sample(threes, seed=1)
paths = solver.sample_trajectory(threes[:8], num_steps=8, seed=2)

# %% [markdown]
# Two numbers: how near the pictures are to the nearest real eight, beside how near real eights are
# to each other; and how much of its three each one kept, beside any three.


# %%
def nearest(pictures, others):
    """The mean distance to the nearest of the others, in grey levels a pixel; itself apart."""
    distances = np.abs(pictures[:, None].astype(float) - others).mean(-1)
    distances[distances == 0] = np.inf
    return distances.min(1).mean()


def kept(x0, x1):
    return np.abs(x0.astype(float) - x1).mean()


apart = kept(threes, turned), kept(threes[np.roll(np.arange(len(threes)), 1)], turned)
print(f"to the nearest eight: {nearest(turned, eights):.2f}, "
      f"of threes {nearest(threes, eights):.2f}, "
      f"among eights {nearest(eights, eights):.2f}")  # fmt: skip
print(f"from its own three: {apart[0]:.2f}, from another {apart[1]:.2f}")
assert nearest(turned, eights) < 0.8 * nearest(threes, eights)
assert apart[0] < 0.9 * apart[1]

# %% [markdown]
# The other direction needs no second training: Bayes' rule over the threes that were seen.

# %%
back = solver.reversed().sample(eights[:8], seed=3)


# %%
def show(rows, file):
    """One row of pictures for each entry."""
    figure, axes = plt.subplots(len(rows), 8, figsize=(8, len(rows)))
    for row, (title, images) in zip(axes, rows):
        for axis, image in zip(row, images):
            axis.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
            axis.set_xticks([])
            axis.set_yticks([])
        row[0].set_ylabel(title, fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    if matplotlib.get_backend().lower() != "agg":
        plt.show()


steps = [(f"step {n}", paths[:, n]) for n in range(1, 8, 2)]
show([("three", threes[:8]), *steps, ("eight", paths[:, -1])], "digits-forward.png")
show([("eight", eights[:8]), ("three", back)], "digits-reverse.png")
