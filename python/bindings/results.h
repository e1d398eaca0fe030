#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/experiment/results.h"

// What the library returns as Python objects. Arrays move: NumPy takes over their memory.
namespace bridgemark::python {

// A NumPy array over the memory of the container, which lives as long as the array.
template <typename T, typename Container>
nanobind::object own(Container&& values, std::initializer_list<std::size_t> shape) {
  auto owned = std::make_unique<Container>(std::move(values));
  T* data = owned->data();
  const nanobind::capsule owner(owned.get(),
                                [](void* kept) noexcept { delete static_cast<Container*>(kept); });
  owned.release();
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(data, shape, owner));
}

// Values that somebody is about to write: unlike a vector's, their memory is not touched before,
// which for gigabytes would take seconds without a look for Ctrl-C.
template <typename T>
class UnwrittenValues {
 public:
  explicit UnwrittenValues(std::size_t count) : values_(new T[count]) {}
  T* data() const { return values_.get(); }

 private:
  std::unique_ptr<T[]> values_;
};

template <typename T>
nanobind::object to_numpy(std::vector<T>&& values) {
  return own<T>(std::move(values), {values.size()});
}

template <typename T>
nanobind::object to_numpy(Matrix<T>&& values) {
  return own<T>(std::move(values), {values.rows(), values.cols()});
}

template <typename T>
nanobind::object to_numpy(Array3<T>&& values) {
  return own<T>(std::move(values), {values.extent(0), values.extent(1), values.extent(2)});
}

// Objects become dicts, null becomes None.
nanobind::object to_python(const nlohmann::json& json);

// (run, method, pair, seed, score, value, standard_error) of each run and score.
nanobind::list result_rows(const std::vector<RunResult>& results);

}  // namespace bridgemark::python
