"""Pictures: what they show of pairs, solvers and outside couplings, and what they refuse."""

import subprocess
import sys

import numpy as np
import pytest
from fake_arrays import CurrentArray

import bridgemark as bm

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def reference(pair):
    return bm.Reference().fit(pair)


class Shifted:
    """x1 is x0 with 3 more in each coordinate, one at a time."""

    num_steps = 3

    def sample(self, x0, seed):
        assert 0 <= seed < 2**31
        return (x0 + 3) % 50

    def log_transition_marginals(self, x, num_steps, n):
        assert num_steps == 3 and 0 <= n < 3
        out = np.full((*x.shape, 50), -np.inf)
        np.put_along_axis(out, ((x + 1) % 50)[..., None], 0.0, axis=-1)
        return out


class Stepping(Shifted):
    def sample_transition(self, x, num_steps, n, seed):
        return (x + 2) % 50


def points(ax, label):
    """The points of a scatter in whole states."""
    found = [c for c in ax.collections if c.get_label() == label]
    return np.round(np.asarray(found[0].get_offsets())).astype(int)


def test_samples_of_a_pair(pair):
    ax = bm.plot_samples(pair, num_samples=50, seed=3)
    again = bm.plot_samples(pair.name, num_samples=50, seed=3)
    for label in ("$x_0$", "$x_1$"):
        assert points(ax, label).shape == (50, 2)
        assert np.array_equal(points(ax, label), points(again, label))
    assert not np.array_equal(points(ax, "$x_1$"), points(bm.plot_samples(pair), "$x_1$")[:50])
    assert ax.get_title() == pair.name
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("coordinate 0", "coordinate 1")
    assert ax.get_xlim() == ax.get_ylim() == (-0.5, 49.5)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$x_0$", "$x_1$"]


def test_samples_of_solvers_and_outside_couplings(pair, reference):
    x0 = pair.sample_x0(40, seed=1)
    for source in (Shifted(), lambda x: (x + 3) % 50):
        ax = bm.plot_samples(source, x0)
        assert np.array_equal(points(ax, "$x_0$"), x0)
        assert np.array_equal(points(ax, "$x_1$"), (x0 + 3) % 50)
    assert points(bm.plot_samples(Shifted(), pair, num_samples=7), "$x_1$").shape == (7, 2)
    for source in (reference, reference.coupling):
        assert bm.plot_samples(source).get_title() == f"reference on {pair.name}"
    data = bm.Reference().fit(x0, x0, gamma=0.1, num_categories=50)
    assert np.array_equal(points(bm.plot_samples(data, x0), "$x_0$"), x0)
    with pytest.raises(ValueError, match="x0 must be given, .* reference was not fitted to a pair"):
        bm.plot_samples(data.coupling)
    own = points(bm.plot_samples(data), "$x_0$")
    assert sorted(own.tolist()) == sorted(x0.tolist())
    assert len(points(bm.plot_samples(data, num_samples=5), "$x_0$")) == 5


def test_coordinates():
    pair = bm.load("d16-gaussian-0.02")
    x0 = pair.sample_x0(30, seed=1)
    ax = bm.plot_samples(pair, x0, coordinates=(7, 2))
    assert np.array_equal(points(ax, "$x_0$"), x0[:, [7, 2]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("coordinate 7", "coordinate 2")
    ax = bm.plot_samples(pair, coordinates="pca", seed=1)
    assert ax.get_xlabel() == "first principal component"
    shown = np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections])
    spread = shown.std(0)
    assert spread[0] >= spread[1] > 1 and abs(np.corrcoef(shown.T)[0, 1]) < 1e-6
    for wrong in ((0,), (0, 16), (-1, 0), "tsne"):
        with pytest.raises(ValueError, match="coordinates must be two"):
            bm.plot_samples(pair, coordinates=wrong)


def test_outside_couplings_are_asked_in_their_library(pair):
    class Wanting(Shifted):
        def sample(self, x0, seed):
            assert isinstance(x0, CurrentArray)
            return CurrentArray((x0.values + 3) % 50)

    x0 = pair.sample_x0(10, seed=1)
    ax = bm.plot_samples(Wanting(), x0, like=CurrentArray(np.zeros((1, 2), int)))
    assert np.array_equal(points(ax, "$x_1$"), (x0 + 3) % 50)


def test_histograms():
    pair = bm.build_pair(dim=2, num_categories=6, gamma=0.4, seed=1)
    ax = bm.plot_samples(pair, num_samples=500, seed=1)  # six categories: points would hide others
    shares = np.asarray(ax.collections[0].get_array()).reshape(6, 6)  # rows are coordinate 1
    assert shares.sum() == pytest.approx(1.0)
    x1 = pair.sample_x1(20_000, seed=2)
    expected = np.histogram2d(x1[:, 1], x1[:, 0], bins=np.arange(7) - 0.5)[0] / len(x1)
    assert np.abs(shares - expected).max() < 0.1
    assert "$x_1$" in bm.plot_samples(pair, kind="scatter").get_legend().get_texts()[1].get_text()
    with pytest.raises(ValueError, match="kind must be 'scatter' or 'histogram', got 'bars'"):
        bm.plot_samples(pair, kind="bars")


def test_trajectories(pair, reference):
    axes = plt.subplots(1, 2)[1]
    ax = bm.plot_trajectories(pair, num_starts=3, paths=2, num_steps=8, seed=1, ax=axes[0])
    assert ax is axes[0] and len(ax.lines) == 6 and ax.get_title() == f"{pair.name}, 8 steps"
    assert all(len(line.get_xdata()) == 9 for line in ax.lines)
    starts = {(line.get_xdata()[0], line.get_ydata()[0], line.get_color()) for line in ax.lines}
    assert len(starts) == len({colour for _, _, colour in starts}) == 3  # one colour a start
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["$p_0$", "$p_1$", "$x_0$", "$x_1$"]
    assert len(bm.plot_trajectories(reference, ax=axes[1]).lines) == 16
    assert axes[1].get_xlim() == axes[0].get_xlim()


@pytest.mark.parametrize(("kind", "step"), [(Shifted, 1), (Stepping, 2)])
def test_trajectories_of_outside_couplings(pair, kind, step):
    x0 = np.array([[5, 10], [40, 41]])
    ax = bm.plot_trajectories(kind(), x0, paths=1)
    for line, start in zip(ax.lines, x0):
        path = np.stack([line.get_xdata(), line.get_ydata()], axis=1)
        assert path.tolist() == [(start + n * step).tolist() for n in range(4)]
    with pytest.raises(ValueError, match="has no trajectories: an object needs num_steps"):
        bm.plot_trajectories(lambda x: x, x0)


def test_draws_of_transition_marginals_follow_them():
    class Coin:
        num_steps = 1

        def log_transition_marginals(self, x, num_steps, n):
            return np.log(np.broadcast_to([0.2, 0.0, 0.8], (*x.shape, 3)))

        def sample(self, x0, seed):
            raise AssertionError("must not be asked")

    with np.errstate(divide="ignore"):
        ax = bm.plot_trajectories(Coin(), np.zeros((1, 2), int), paths=2000, seed=1)
    ends = np.array([[line.get_xdata()[-1], line.get_ydata()[-1]] for line in ax.lines])
    assert set(ends.ravel()) == {0, 2}
    assert (ends == 2).mean() == pytest.approx(0.8, abs=0.04)  # 6 standard errors


def test_conditionals_lie_side_by_side(pair, reference):
    x0 = pair.conditional_inputs()[:2]
    figure = bm.plot_conditional(pair, [reference, Shifted()], x0, num_samples=300, seed=1)
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert [ax.get_title() for ax in panels] == ["truth", "reference", "Shifted", "", "", ""]
    for row, start in zip((panels[:3], panels[3:]), x0):
        assert (
            len({(ax.get_xlim(), ax.get_ylim(), ax.collections[0].get_clim()) for ax in row}) == 1
        )
        for ax in row:
            assert np.asarray(ax.collections[0].get_array()).sum() == pytest.approx(1.0)
            assert (ax.lines[0].get_xdata()[0], ax.lines[0].get_ydata()[0]) == tuple(start)
        shifted = np.asarray(row[2].collections[0].get_array()).reshape(50, 50)
        assert shifted[start[1] + 3, start[0] + 3] == 1.0  # all draws in one cell
        truth = np.asarray(row[0].collections[0].get_array()).reshape(50, 50)
        exact = np.exp(pair.log_marginals(start[None]))[0]
        assert np.abs(truth.sum(0) - exact[0]).max() < 0.15
    assert len(panels[0].get_legend().get_texts()) == 1
    own = plt.figure()
    assert bm.plot_conditional(pair, {"mine": reference}, figure=own, num_x0=1) is own
    assert [ax.get_title() for ax in own.axes[:2]] == ["truth", "mine"]
    with pytest.raises(ValueError, match="names of their own"):
        bm.plot_conditional(pair, [reference, reference.coupling])
    with pytest.raises(TypeError, match="pair must be a Pair"):
        bm.plot_conditional(reference, reference)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda pair: bm.plot_samples(3), TypeError, "source must be a pair, .* got int"),
        (lambda pair: bm.plot_samples(bm.DLightSB()), RuntimeError, "must be fitted first"),
        (lambda pair: bm.plot_samples(bm.DLightSB), TypeError, "source must be a pair"),
        (lambda pair: bm.plot_samples(pair, seed="1"), TypeError, "seed must be an int"),
        (lambda pair: bm.plot_samples(pair, [[0.5, 1.0]]), ValueError, "x0 must be integers"),
        (
            lambda pair: bm.plot_samples(lambda x: x[:1], pair),
            ValueError,
            r"must answer \(1000, 2\)",
        ),
        (
            lambda pair: bm.plot_samples(lambda x: x, [[1], [2]]),
            ValueError,
            "at least 2 coordinates",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused(pair, call, error, message):
    with pytest.raises(error, match=message):
        call(pair)


def test_without_matplotlib_one_line_says_so():
    script = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "import bridgemark as bm\n"
        "for plot in (bm.plot_samples, bm.plot_trajectories):\n"
        "    try:\n"
        "        plot('d2-gaussian-0.02')\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
        "try:\n"
        "    bm.plot_conditional('d2-gaussian-0.02', None)\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        f"[python] {name} needs matplotlib: pip install matplotlib"
        for name in ("plot_samples", "plot_trajectories", "plot_conditional")
    ]


def test_rows_of_own_data_are_images_or_a_heat_map():
    random = np.random.default_rng(0)
    images = random.integers(0, 17, (12, 64))
    axes = bm.plot_rows({"before": images, "after": images[:3] // 2}, count=5, num_categories=17)
    shown = axes.images[0].get_array()
    assert shown.shape == (17, 44) and axes.images[0].get_clim() == (0, 16)
    assert np.array_equal(shown[:8, 9:17], images[1].reshape(8, 8))
    assert np.array_equal(shown[9:, 18:26], images[2].reshape(8, 8) // 2)
    assert shown.mask[:, 8].all() and shown.mask[8].all() and shown.mask[9:, 27:].all()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["before", "after"]
    lines = bm.plot_rows({"x0": images[:, :6], "x1": images[:4, 6:12]}, ax=plt.subplots()[1])
    assert lines.images[0].get_array().shape == (15, 6)
    with pytest.raises(TypeError, match="rows must be a dict of the names of sets"):
        bm.plot_rows(images)
    with pytest.raises(ValueError, match="sets must have as many columns, got"):
        bm.plot_rows({"x0": images, "x1": images[:, :3]})
    with pytest.raises(ValueError, match=r"rows of 'x0' must be integers \[n,D\], one at least"):
        bm.plot_rows({"x0": images / 2})
    with pytest.raises(ValueError, match="count must be at least 1, got 0"):
        bm.plot_rows({"x0": images}, count=0)
