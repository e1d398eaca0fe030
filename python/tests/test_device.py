"""Arrays on a GPU: worked on there, answered there, with the values of the host.

Skipped without a GPU, without a build that has CUDA, and for each library that is not installed.
"""

import numpy as np
import pytest

import bridgemark as bm


def _torch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return lambda array: torch.as_tensor(array, device="cuda"), lambda array: array.cpu().numpy()


def _cupy():
    cupy = pytest.importorskip("cupy")
    return cupy.asarray, cupy.asnumpy


def _jax():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray, np.asarray


@pytest.fixture(scope="module", autouse=True)
def cuda():
    try:
        bm.Independent().fit("d2-gaussian-0.02", device="cuda")
    except (RuntimeError, ValueError) as error:
        pytest.skip(str(error))


@pytest.fixture(params=[_torch, _cupy, _jax], ids=["torch", "cupy", "jax"])
def library(request):
    """(to the GPU, to NumPy)"""
    return request.param()


@pytest.fixture(scope="module", params=["d16-gaussian-0.02", "d16-uniform-0.01-chain"])
def truth(request):
    return bm.load(request.param)


def share_of_differences(left, right):
    assert left.shape == right.shape and left.dtype == right.dtype
    return np.mean(left != right)


def stays(library, given, answer):
    assert type(answer) is type(given)
    assert answer.device == given.device
    return library[1](answer)


def test_draws_and_probabilities_are_those_of_the_host(library, truth):
    x0 = truth.sample_x0(500, seed=1)
    given = library[0](x0)
    x1 = truth.sample_conditional(x0, seed=2)
    drawn = truth.sample_conditional(given, seed=2)
    assert share_of_differences(stays(library, given, drawn), x1) <= 1e-4
    on_gpu = library[0](x1)
    for host, device in [
        (truth.log_conditional(x0, x1), truth.log_conditional(given, on_gpu)),
        (truth.log_marginals(x0), truth.log_marginals(given)),
        (
            truth.log_transition_marginals(x0, 16, 3),
            truth.log_transition_marginals(given, 16, 3),
        ),
    ]:
        np.testing.assert_allclose(stays(library, given, device), host, rtol=0, atol=1e-10)
    path = truth.sample_trajectory(given, num_steps=4, seed=5)
    expected = truth.sample_trajectory(x0, num_steps=4, seed=5)
    assert share_of_differences(stays(library, given, path), expected) <= 1e-4


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64"])
def test_integers_of_every_width(library, truth, dtype):
    x0 = truth.sample_x0(50, seed=1)
    given = library[0](x0.astype(dtype))
    drawn = library[1](truth.sample_conditional(given, seed=2))
    assert drawn.dtype == np.int32
    np.testing.assert_array_equal(drawn, library[1](truth.sample_conditional(library[0](x0), 2)))


def test_rows_need_not_lie_one_behind_the_other(library, truth):
    x0 = truth.sample_x0(60, seed=1)
    thin = library[0](x0)[::3]
    drawn = library[1](truth.sample_conditional(thin, seed=2))
    np.testing.assert_array_equal(
        drawn, library[1](truth.sample_conditional(library[0](x0[::3]), 2))
    )


def test_what_is_wrong_is_named(library, truth):
    x0 = truth.sample_x0(5, seed=1)
    x0[2, 7] = 50
    with pytest.raises(
        ValueError, match=r"x0 must hold categories 0\.\.49, got 50 at row 2, column 7"
    ):
        truth.sample_conditional(library[0](x0))
    with pytest.raises(ValueError, match=r"x0 must have shape \[rows, 16\], got"):
        truth.sample_conditional(library[0](x0[:, :3]))
    with pytest.raises(ValueError, match="x0 must have an integer dtype, got"):
        truth.sample_conditional(library[0](x0.astype(np.float32)))
    with pytest.raises(
        ValueError, match="x0 and x1 must have as many rows as each other, got 5 and 4"
    ):
        truth.log_conditional(library[0](x0 % 50), library[0](x0[:4] % 50))


@pytest.mark.parametrize("name", ["d2-gaussian-0.02", "d2-gaussian-0.02-reverse"])
def test_batches_are_those_of_the_host(name):
    torch = pytest.importorskip("torch")
    pair = bm.load(name)
    device, host = pair.batches(100, seed=3, device="cuda"), pair.batches(100, seed=3)
    for _ in range(3):
        for drawn, expected in zip(next(device), next(host), strict=True):
            assert drawn.is_cuda and drawn.dtype == torch.int32
            assert share_of_differences(drawn.cpu().numpy(), expected) <= 1e-3


@pytest.mark.parametrize("suffix", ["", "-chain", "-reverse"])
def test_samples_are_drawn_there(suffix):
    torch = pytest.importorskip("torch")
    pair = bm.load("d2-gaussian-0.02" + suffix)

    def check(drawn, expected):
        assert drawn.is_cuda and drawn.dtype == torch.int32
        assert share_of_differences(drawn.cpu().numpy(), expected) <= 1e-3

    check(pair.sample_x0(1000, 5, device="cuda"), pair.sample_x0(1000, 5))
    check(pair.sample_x1(1000, 5, device="cuda"), pair.sample_x1(1000, 5))
    joint = pair.sample_joint(1000, 5, device="cuda")
    for drawn, expected in zip(joint, pair.sample_joint(1000, 5), strict=True):
        check(drawn, expected)


@pytest.mark.parametrize(
    "solver, options",
    [
        (bm.DLightSB, {"components": 20, "updates": 20}),
        (bm.CSBM, {"num_steps": 4, "imf_iterations": 1, "updates_first": 20}),
    ],
)
def test_what_a_solver_draws_stays(library, solver, options):
    pair = bm.load("d2-gaussian-0.02")
    fitted = solver(**options).fit(pair, device="cuda")
    x0 = pair.sample_x0(2000, seed=1)
    given = library[0](x0)
    drawn = stays(library, given, fitted.sample(given, seed=4))
    assert share_of_differences(drawn, fitted.sample(x0, seed=4)) <= 1e-2
    np.testing.assert_array_equal(drawn, library[1](fitted.sample(given, seed=4)))


def test_a_callable_on_the_gpu_is_scored_as_on_the_host():
    torch = pytest.importorskip("torch")
    pair = bm.load("d2-gaussian-0.02")
    seen = []

    def stays_put(x0):
        seen.append(x0)
        return x0

    like = torch.zeros(1, device="cuda")
    options = {"num_seeds": 1, "conditional_samples": 100}
    on_gpu = bm.evaluate(pair, stays_put, like=like, **options)
    assert all(x0.is_cuda for x0 in seen)
    on_host = bm.evaluate(pair, lambda x0: x0, **options)
    for score in ("shape_score", "trend_score", "sampled_conditional_shape_score", "sb_perplexity"):
        assert on_gpu[score] == pytest.approx(on_host[score], abs=1e-12), score
    # These have draws of the truth, of which one in 1e5 may be another on a GPU.
    for score in ("conditional_shape_score", "conditional_trend_score"):
        assert on_gpu[score] == pytest.approx(on_host[score], abs=1e-4), score


def test_the_truth_is_scored_on_the_gpu_as_on_the_host(truth):
    options = {"num_seeds": 1, "num_trajectories": 50, "conditional_samples": 100}
    oracle = bm.Oracle()
    on_gpu = bm.evaluate(truth, oracle.fit(truth), device="cuda", **options)
    on_host = bm.evaluate(truth, oracle.fit(truth), **options)
    for score in ("exact_conditional_shape_score", "joint_kl", "forward_trajectory_kl"):
        assert on_gpu[score] == pytest.approx(on_host[score], abs=1e-10), score
    for score in ("shape_score", "trend_score", "conditional_trend_score", "sb_perplexity"):
        assert on_gpu[score] == pytest.approx(on_host[score], abs=1e-4), score
