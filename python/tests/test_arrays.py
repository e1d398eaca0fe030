"""Arrays of other libraries stay in their library and on their device."""

import numpy as np
import pytest
from fake_arrays import ClosedArray, CurrentArray, OldArray

import bridgemark as bm

# Every call that takes states and answers with an array.
CALLS = {
    "sample_conditional": lambda pair, x: pair.sample_conditional(x, seed=3),
    "sample_trajectory": lambda pair, x: pair.sample_trajectory(x, num_steps=4, seed=3),
    "log_p0": lambda pair, x: pair.log_p0(x),
    "log_p1 with its error": lambda pair, x: pair.log_p1(x, with_error=True)[1],
    "estimate_marginals": lambda pair, x: pair.estimate_marginals(x)[0],
    "log_conditional": lambda pair, x: pair.log_conditional(x, x),
    "log_marginals": lambda pair, x: pair.log_marginals(x),
    "log_transition_marginals": lambda pair, x: pair.log_transition_marginals(x, 4, 1),
    "Solver.sample": lambda pair, x: bm.Reference().fit(pair).sample(x, seed=3),
    "Solver.sample_trajectory": lambda pair, x: (
        bm.Reference().fit(pair).sample_trajectory(x, seed=3)
    ),
    "Coupling.log_marginals": lambda pair, x: bm.Reference().fit(pair).coupling.log_marginals(x),
}


@pytest.fixture(params=CALLS.values(), ids=CALLS.keys())
def call(request):
    return request.param


@pytest.mark.parametrize("kind", [CurrentArray, OldArray])
@pytest.mark.parametrize("device", ["cpu", "accelerator:0"])
@pytest.mark.parametrize("dtype", ["i4", "i8", "u1"])
def test_answers_follow_the_array(pair, call, kind, device, dtype):
    x = pair.sample_x0(20, seed=1)
    expected = call(pair, x)
    answer = call(pair, kind(x.astype(dtype), device))
    assert type(answer) is kind and answer.device == device
    assert answer.values.dtype == expected.dtype
    assert np.array_equal(answer.values, expected)


def test_empty_batches_follow_the_array(pair, call):
    answer = call(pair, CurrentArray(np.zeros((0, 2), np.int32), "accelerator:0"))
    assert len(answer.values) == 0 and answer.device == "accelerator:0"


def test_array_without_a_way_out_is_refused_by_name(pair, call):
    with pytest.raises(ValueError, match=r"x0? must be readable through DLPack.*accelerator:0"):
        call(pair, ClosedArray(np.zeros((3, 2), np.int32), "accelerator:0"))


def test_library_without_a_way_in_is_refused(pair):
    class Exports:
        """Gives its memory away, but belongs to no library that takes any."""

        device = "cpu"

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **request):
            return np.zeros((3, 2), np.int32).__dlpack__()

    with pytest.raises(ValueError, match="a result cannot follow .*Exports on cpu"):
        pair.sample_conditional(Exports())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((3, 2)), "integer dtype, got float64"),
        (np.zeros((3, 5), np.int64), "2 columns"),
        (np.full((3, 2), 50, np.int64), "categories 0..49, got 50"),
    ],
)
def test_bad_states_of_other_libraries_are_refused(pair, values, message):
    for device in ("cpu", "accelerator:0"):
        with pytest.raises(ValueError, match=message):
            pair.sample_conditional(CurrentArray(values, device))


def test_callable_gets_and_returns_arrays_of_its_library(pair):
    devices = []

    def solver(x0):
        devices.append((type(x0), x0.device))
        return CurrentArray(x0.values.astype(np.int64), "accelerator:0")

    like = CurrentArray(np.zeros(0), "accelerator:0")
    result = bm.evaluate(pair, solver, like=like)
    assert set(devices) == {(CurrentArray, "accelerator:0")}
    assert result.scores == bm.evaluate(pair, lambda x0: x0).scores


# --- the real libraries, where they are installed


def assert_same(answer, expected, on_gpu):
    """States are the same everywhere, probabilities up to a GPU's order of sums."""
    if on_gpu and expected.dtype.kind == "f":
        np.testing.assert_allclose(answer, expected, rtol=1e-12, atol=1e-12)
    else:
        assert np.array_equal(answer, expected)


def test_torch(pair, call):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.as_tensor(pair.sample_x0(20, seed=1).tolist())
    devices = ["cpu", *(["cuda:0"] if torch.cuda.is_available() else [])]
    expected = call(pair, pair.sample_x0(20, seed=1))
    for device in devices:
        answer = call(pair, x.to(device))
        assert isinstance(answer, torch.Tensor) and answer.device == torch.device(device)
        assert_same(answer.cpu().numpy(), expected, device != "cpu")
    for layout in (x.T.contiguous().T, x[:, [1, 0]].flip(1), x.expand(20, 2)):
        assert np.array_equal(call(pair, layout).numpy(), expected)


def test_jax(pair, call):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)  # else JAX rounds float64 to float32
    jnp = jax.numpy
    x = pair.sample_x0(20, seed=1)
    answer = call(pair, jnp.asarray(x))
    assert type(answer) is type(jnp.asarray(x))
    assert_same(np.asarray(answer), call(pair, x), jax.default_backend() == "gpu")
