#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "bridgemark/core/array.h"

// What the library returns as Python objects. Arrays move: NumPy takes over their memory.
namespace bridgemark::python {

template <typename T>
using Numpy1 = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>, nanobind::c_contig>;
template <typename T>
using Numpy2 = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>, nanobind::c_contig>;
template <typename T>
using Numpy3 = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<3>, nanobind::c_contig>;

// A capsule that deletes the container when the last array over it is gone. `data` receives the
// container's memory.
template <typename Container, typename T>
nanobind::capsule own(Container&& values, T*& data) {
  auto owned = std::make_unique<Container>(std::move(values));
  data = owned->data();
  nanobind::capsule capsule(owned.get(),
                            [](void* kept) noexcept { delete static_cast<Container*>(kept); });
  owned.release();
  return capsule;
}

template <typename T>
Numpy1<T> to_numpy(std::vector<T>&& values) {
  const std::size_t size = values.size();
  T* data = nullptr;
  const nanobind::capsule owner = own(std::move(values), data);
  return Numpy1<T>(data, {size}, owner);
}

template <typename T>
Numpy2<T> to_numpy(Matrix<T>&& values) {
  const std::size_t rows = values.rows(), cols = values.cols();
  T* data = nullptr;
  const nanobind::capsule owner = own(std::move(values), data);
  return Numpy2<T>(data, {rows, cols}, owner);
}

template <typename T>
Numpy3<T> to_numpy(Array3<T>&& values) {
  const std::size_t n0 = values.extent(0), n1 = values.extent(1), n2 = values.extent(2);
  T* data = nullptr;
  const nanobind::capsule owner = own(std::move(values), data);
  return Numpy3<T>(data, {n0, n1, n2}, owner);
}

// Objects become dicts, null becomes None.
nanobind::object to_python(const nlohmann::json& json);

}  // namespace bridgemark::python
