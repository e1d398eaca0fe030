#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "python/bindings/arguments.h"
#include "python/bindings/bindings.h"
#include "python/bindings/calls.h"
#include "python/bindings/device_arrays.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

// The package's own arrays, None for one that is not asked for: what they must be has been seen to
// there.
template <typename Where>
MutableStatesView view_of(nb::handle array, bool on_device) {
  if (array.is_none()) return {};
  const auto values = nb::cast<nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, Where>>(array);
  return {values.data(), values.shape(0), values.shape(1), on_device};
}

// Calls write(context, x0, x1) where the arrays lie.
template <typename Write>
void fill(nb::handle x0, nb::handle x1, const Write& write) {
  const ArrayLike given{nb::borrow(x0.is_none() ? x1 : x0)};
  if (is_on_gpu(given)) {
    const GpuOf gpu(given);
    const MutableStatesView from = view_of<nb::device::cuda>(x0, true),
                            to = view_of<nb::device::cuda>(x1, true);
    interruptible([&](const Context& context) { return write(gpu.on(context), from, to), 0; });
    return;
  }
  const MutableStatesView from = view_of<nb::device::cpu>(x0, false),
                          to = view_of<nb::device::cpu>(x1, false);
  interruptible([&](const Context& context) { return write(context, from, to), 0; });
}

void fill_ends(const BenchmarkPair& pair, std::uint64_t seed, std::uint64_t first_index,
               nb::handle x0, nb::handle x1) {
  fill(x0, x1, [&](const Context& context, MutableStatesView from, MutableStatesView to) {
    if (from.data != nullptr) pair.write_x0(context, seed, first_index, from);
    if (to.data != nullptr) pair.write_x1(context, seed, first_index, to);
  });
}

void fill_joint(const BenchmarkPair& pair, std::uint64_t seed, nb::handle x0, nb::handle x1) {
  fill(x0, x1, [&](const Context& context, MutableStatesView from, MutableStatesView to) {
    pair.write_joint(context, seed, 0, from, to);
  });
}

}  // namespace

void init_batches(nb::module_& module) {
  module.def(
      "require_gpu", [] { backend::of({.device = Device::kCuda}).require_device(); },
      "Raise DeviceError where this build or this machine has no GPU.");
  module.def(
      "require_states_memory",
      [](std::size_t rows, std::size_t dim) { require_states_memory(rows, dim); }, "rows"_a,
      "dim"_a, "Raise ValueError where states [rows,dim] would need more memory than is free.");
  module.def("fill_ends", fill_ends, "pair"_a, "seed"_a, "first_index"_a, "x0"_a.none(),
             "x1"_a.none(),
             nb::sig("def fill_ends(pair: Pair, seed: int, first_index: int, x0: typing.Any, x1: "
                     "typing.Any) -> None"),
             "Fill x0 and x1, int32 [B,D], with rows first_index.. of p0 and p1 under the seed.\n"
             "One of them may be None.");
  module.def(
      "fill_joint", fill_joint, "pair"_a, "seed"_a, "x0"_a, "x1"_a,
      nb::sig("def fill_joint(pair: Pair, seed: int, x0: typing.Any, x1: typing.Any) -> None"),
      "Fill x0 and x1, int32 [B,D], with rows of the truth under the seed.");
}

}  // namespace bridgemark::python
