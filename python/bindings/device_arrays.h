#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "python/bindings/arguments.h"

// Arrays of torch, CuPy and JAX in a GPU's memory. They are worked on there, in the order of their
// library's current stream, and answered by arrays of the same library: nothing goes through the
// host. Everything here is made and used with the GIL held.
namespace bridgemark::python {

// Whether the array lies in the memory of the GPU that this build and machine can work on, and can
// be read there.
bool is_on_gpu(const ArrayLike& given);

// Values made beside an array: in a new one of its library, or in memory of ours that a library
// whose arrays cannot be written to takes over at the end.
template <typename T>
struct MadeArray {
  T* data = nullptr;
  nanobind::object array;        // None in the second case
  std::shared_ptr<void> memory;  // of ours
  std::vector<std::size_t> shape;
};

// The GPU of an array as a context, and arrays made beside it.
class GpuOf {
 public:
  explicit GpuOf(const ArrayLike& given);

  // The context of a call: its device is cuda and its queue that of the array's library.
  Context on(const Context& context) const;

  MadeArray<std::int32_t> make_states(std::initializer_list<std::size_t> shape) const;
  MadeArray<double> make_doubles(std::initializer_list<std::size_t> shape) const;

  // The array, once its values are on their way.
  template <typename T>
  nanobind::object finish(MadeArray<T>&& made) const;

 private:
  template <typename T>
  MadeArray<T> make(const char* dtype, std::initializer_list<std::size_t> shape) const;

  nanobind::object given_;
  std::shared_ptr<const DeviceQueue> queue_;
};

// States [B,D] of a GPU's array, checked there and brought to int32 where they are not.
class GpuStates {
 public:
  // Throws InvalidArgument unless the array is [B,dim] of integers in 0..num_categories-1.
  GpuStates(std::string_view name, const ArrayLike& given, const GpuOf& gpu, std::size_t dim,
            int num_categories);

  StatesView view() const { return view_; }
  std::size_t rows() const { return view_.rows; }

 private:
  MadeArray<std::int32_t> states_;
  StatesView view_;
};

}  // namespace bridgemark::python
