#include "python/bindings/device_arrays.h"

#include <nanobind/ndarray.h>

#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/device_queue.h"
#include "bridgemark/core/error.h"

namespace nb = nanobind;

namespace bridgemark::python {

namespace {

using GpuValues = nb::ndarray<nb::ro, nb::c_contig, nb::device::cuda>;
using StridedGpuValues = nb::ndarray<nb::ro, nb::device::cuda>;

nb::object arrays(const char* function) {
  return nb::module_::import_("bridgemark._arrays").attr(function);
}

// Once for all: whether there is a GPU changes in no process.
bool has_gpu() {
  static const bool has = [] {
    try {
      backend::of({.device = Device::kCuda}).require_device();
      return true;
    } catch (const DeviceError&) {
      return false;
    }
  }();
  return has;
}

}  // namespace

bool is_on_gpu(const ArrayLike& given) {
  if (!nb::hasattr(given.array, "__dlpack_device__") ||
      !nb::cast<bool>(arrays("is_on_first_gpu")(given.array)) || !has_gpu()) {
    return false;
  }
  StridedGpuValues exported;  // some libraries only give copies on the host
  return nb::try_cast(given.array, exported);
}

GpuOf::GpuOf(const ArrayLike& given)
    : given_(given.array),
      queue_(std::make_shared<const DeviceQueue>(
          nb::cast<std::uintptr_t>(arrays("current_stream")(given.array)))) {}

Context GpuOf::on(const Context& context) const {
  Context there = context;
  there.device = Device::kCuda;
  there.queue = queue_;
  return there;
}

template <typename T>
MadeArray<T> GpuOf::make(const char* dtype, std::initializer_list<std::size_t> shape) const {
  MadeArray<T> made;
  made.shape = shape;
  nb::list axes;
  std::size_t size = 1;
  for (const std::size_t extent : shape) {
    axes.append(extent);
    size *= extent;
  }
  made.array = arrays("empty_like")(given_, nb::tuple(axes), dtype);
  if (made.array.is_none()) {
    made.memory = backend::of(on({})).allocate_memory(size * sizeof(T));
    made.data = static_cast<T*>(made.memory.get());
  } else {
    made.data = nb::cast<nb::ndarray<T, nb::c_contig, nb::device::cuda>>(made.array).data();
  }
  return made;
}

template <typename T>
nb::object GpuOf::finish(MadeArray<T>&& made) const {
  if (!made.array.is_none()) return made.array;
  const Context there = on({});
  backend::of(there).wait(there);  // other streams may read it now
  auto kept = std::make_unique<std::shared_ptr<void>>(std::move(made.memory));
  const nb::capsule owner(
      kept.get(), [](void* held) noexcept { delete static_cast<std::shared_ptr<void>*>(held); });
  kept.release();
  return arrays("adopt")(
      given_, nb::cast(nb::ndarray<T>(made.data, made.shape.size(), made.shape.data(), owner,
                                      nullptr, nb::dtype<T>(), nb::device::cuda::value, 0)));
}

template nb::object GpuOf::finish(MadeArray<std::int32_t>&&) const;
template nb::object GpuOf::finish(MadeArray<double>&&) const;

MadeArray<std::int32_t> GpuOf::make_states(std::initializer_list<std::size_t> shape) const {
  return make<std::int32_t>("int32", shape);
}

MadeArray<double> GpuOf::make_doubles(std::initializer_list<std::size_t> shape) const {
  return make<double>("float64", shape);
}

GpuStates::GpuStates(std::string_view name, const ArrayLike& given, const GpuOf& gpu,
                     std::size_t dim, int num_categories) {
  const nb::object array = arrays("contiguous")(given.array);
  const auto values = nb::cast<GpuValues>(array);
  const nb::dlpack::dtype type = values.dtype();
  const bool is_signed = type.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int);
  if (!is_signed && type.code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt)) {
    throw_invalid("python", "{} must have an integer dtype, got {}", name,
                  nb::str(nb::handle(nb::object(given.array.attr("dtype")))).c_str());
  }
  if (values.ndim() != 2 || values.shape(1) != dim) {
    throw_invalid("python", "{} must have shape [rows, {}], got {}", name, dim,
                  nb::str(nb::handle(nb::tuple(given.array.attr("shape")))).c_str());
  }
  const std::size_t rows = values.shape(0);
  states_ = gpu.make_states({rows, dim});
  const Context there = gpu.on({});
  backend::of(there).take_states(there, name, {values.data(), type.bits / 8, is_signed},
                                 num_categories, {states_.data, rows, dim, true});
  view_ = {states_.data, rows, dim, true};
}

}  // namespace bridgemark::python
