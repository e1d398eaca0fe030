#include "python/bindings/arguments.h"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/pair/pair_spec.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bridgemark::python {

namespace {

[[noreturn]] void throw_type(std::string_view area, std::string_view name,
                             std::string_view expected, nb::handle given) {
  const auto kind = nb::cast<std::string>(given.type().attr("__name__"));
  throw nb::type_error(
      fmt::format("[{}] {} must be {}, got {}", area, name, expected, kind).c_str());
}

}  // namespace

nb::object WholeNumber::number(std::string_view name) const {
  nb::object index = nb::steal(PyNumber_Index(given.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    throw_type("python", name, "an int", given);
  }
  return index;
}

std::filesystem::path PathArgument::path(std::string_view name) const {
  if (!nb::isinstance<nb::str>(given) && !nb::hasattr(given, "__fspath__")) {
    throw_type("python", name, "a str or os.PathLike", given);
  }
  return nb::cast<std::filesystem::path>(given);
}

std::uint64_t WholeNumber::in_range(std::string_view name, std::uint64_t low,
                                    std::uint64_t high) const {
  const nb::object whole = number(name);
  const std::uint64_t value = PyLong_AsUnsignedLongLong(whole.ptr());
  const bool beyond = PyErr_Occurred() != nullptr;  // negative, or more than 64 bits
  if (beyond) PyErr_Clear();
  if (beyond || value < low || value > high) {
    throw_invalid("python", "{} must lie in {}..{}, got {}", name, low, high,
                  nb::str(nb::handle(whole)).c_str());
  }
  return value;
}

int WholeNumber::positive_int(std::string_view name) const {
  return static_cast<int>(in_range(name, 1, std::numeric_limits<int>::max()));
}

int WholeNumber::to_int(std::string_view name) const {
  using Limits = std::numeric_limits<int>;
  int overflow = 0;
  const nb::object whole = number(name);
  const long long value = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  if (overflow != 0 || value < Limits::min() || value > Limits::max()) {
    throw_invalid("python", "{} must lie in {}..{}, got {}", name, Limits::min(), Limits::max(),
                  nb::str(nb::handle(whole)).c_str());
  }
  return static_cast<int>(value);
}

std::uint64_t Seed::draw() const {
  nb::object number = given;
  if (given.is_none()) {
    number = nb::module_::import_("secrets").attr("randbits")(63);
  } else if (nb::hasattr(given, "integers")) {
    number = given.attr("integers")(std::numeric_limits<std::int64_t>::max());
  }
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    throw_type("python", "seed", "an int, a numpy.random.Generator or None", given);
  }
  return WholeNumber{index}.in_range("seed", 0, UINT64_MAX);
}

BenchmarkPair PairArgument::pair() const {
  if (nb::isinstance<BenchmarkPair>(given)) return nb::cast<const BenchmarkPair&>(given);
  if (nb::isinstance<nb::str>(given) || nb::hasattr(given, "__fspath__")) {
    return load_pair(nb::cast<std::filesystem::path>(given).string());
  }
  throw_type("pair", "pair", "a Pair, the name of a preset or a pair folder", given);
}

nb::object ArrayLike::to_numpy(std::string_view name) const {
  const nb::module_ arrays = nb::module_::import_("bridgemark._arrays");
  return arrays.attr("to_numpy")(array, nb::str(name.data(), name.size()));
}

Doubles ArrayLike::doubles(std::string_view area, std::string_view name,
                           std::string_view shape) const {
  const nb::object numbers = to_numpy(name);
  const nb::object found = numbers.attr("shape"), dtype = numbers.attr("dtype");
  const auto kind = nb::cast<std::string>(dtype.attr("kind"));
  const auto ndim = static_cast<std::size_t>(std::count(shape.begin(), shape.end(), ',')) + 1;
  if (std::string_view("fiu").find(kind.at(0)) == std::string_view::npos ||
      nb::len(found) != ndim) {
    throw_invalid(area, "{} must be an array {} of numbers, got shape {} of {}", name, shape,
                  nb::str(found).c_str(), nb::str(dtype).c_str());
  }
  return nb::cast<Doubles>(
      nb::module_::import_("numpy").attr("ascontiguousarray")(numbers, "float64"));
}

namespace {

Matrix<double> to_matrix(const Doubles& array) {
  return {array.shape(0), array.shape(1), {array.data(), array.data() + array.size()}};
}

// Rows of a matrix that is given as a tuple are no such arrays.
bool has_one_axis(nb::handle part) {
  if (!nb::hasattr(part, "shape")) return false;
  const nb::object shape = part.attr("shape");
  return nb::len(shape) == 1;
}

// Whether it is a tuple of two arrays of two axes each: rows of a matrix have one.
bool is_pair_of_matrices(nb::handle given) {
  if (!nb::isinstance<nb::tuple>(given) || nb::len(given) != 2) return false;
  for (const nb::handle part : nb::borrow<nb::tuple>(given)) {
    if (!nb::hasattr(part, "shape")) return false;
    const nb::object shape = part.attr("shape");
    if (nb::len(shape) != 2) return false;
  }
  return true;
}

template <typename T>
std::vector<T> whole_numbers(std::string_view area, std::string_view name, nb::handle given) {
  const Doubles values = ArrayLike{nb::borrow(given)}.doubles(area, name, "[n]");
  std::vector<T> whole(values.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const double value = values.data()[i];
    if (!(value >= 0.0 && value <= std::numeric_limits<std::int32_t>::max()) ||
        value != std::floor(value)) {
      throw_invalid(area, "{} must hold whole numbers from 0 on, got {} at {}", name, value, i);
    }
    whole[i] = static_cast<T>(value);
  }
  return whole;
}

// Of scipy's (data, indices, indptr).
GraphWeights graph_of(std::string_view area, nb::handle data, nb::handle indices,
                      nb::handle indptr) {
  const Doubles weights = ArrayLike{nb::borrow(data)}.doubles(area, "reference data", "[n]");
  return {whole_numbers<std::int64_t>(area, "reference indptr", indptr),
          whole_numbers<std::int32_t>(area, "reference indices", indices),
          {weights.data(), weights.data() + weights.size()}};
}

}  // namespace

GivenReference ArrayLike::reference(std::string_view area) const {
  if (nb::isinstance<nb::str>(array)) return nb::cast<std::string>(array);
  if (nb::hasattr(array, "tocsr")) {
    const nb::object csr = array.attr("tocsr")();
    return graph_of(area, csr.attr("data"), csr.attr("indices"), csr.attr("indptr"));
  }
  if (nb::isinstance<nb::tuple>(array) && nb::len(array) == 3 &&
      std::ranges::all_of(nb::borrow<nb::tuple>(array), has_one_axis)) {
    const auto parts = nb::borrow<nb::tuple>(array);
    return graph_of(area, parts[0], parts[1], parts[2]);
  }
  if (is_pair_of_matrices(array)) {
    const auto factors = nb::borrow<nb::tuple>(array);
    const ArrayLike u{nb::borrow(factors[0])}, v{nb::borrow(factors[1])};
    return LowRankFactors{to_matrix(u.doubles(area, "reference U", "[S,r]")),
                          to_matrix(v.doubles(area, "reference V", "[S,r]"))};
  }
  return to_matrix(doubles(area, "reference", "[S,S]"));
}

nb::object ArrayLike::answer(nb::object result) const {
  return nb::module_::import_("bridgemark._arrays").attr("like")(array, result);
}

StatesArgument::StatesArgument(std::string_view name, const ArrayLike& given, std::size_t dim,
                               int num_categories) {
  if (given.array.is_none()) {
    throw_type("python", name, "an array of integers [rows, D]", given.array);
  }
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::object array = given.to_numpy(name);
  const nb::object dtype = array.attr("dtype");
  const auto kind = nb::cast<std::string>(dtype.attr("kind"));
  if (kind != "i" && kind != "u") {
    throw_invalid("python", "{} must have an integer dtype, got {}", name,
                  nb::str(nb::handle(dtype)).c_str());
  }
  const nb::object shape = array.attr("shape");
  if (nb::len(shape) != 2) {
    throw_invalid("python", "{} must have shape [rows, {}], got {}", name,
                  dim > 0 ? std::to_string(dim) : "D", nb::str(nb::handle(shape)).c_str());
  }
  nb::list requirements;
  requirements.append("C");
  requirements.append("ALIGNED");
  array = numpy.attr("require")(array, dtype.attr("newbyteorder")("="), requirements);

  const auto values = nb::cast<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>(array);
  const std::size_t rows = values.shape(0), cols = values.shape(1);
  if (cols != dim) {
    throw_invalid("states", "{} must have {} columns, got shape [{}, {}]", name, dim, rows, cols);
  }
  const void* data = values.data();
  if (values.dtype() == nb::dtype<std::int32_t>()) {
    const auto* const states = static_cast<const std::int32_t*>(data);
    copy_ = States(rows, cols, {states, states + rows * cols});
    check_states(name, copy_, dim, num_categories);
    return;
  }
  const auto narrow_if = [&]<typename T>(T) {
    if (values.dtype() != nb::dtype<T>()) return false;
    narrow(name, static_cast<const T*>(data), rows, dim, num_categories);
    return true;
  };
  const bool known = narrow_if(std::int64_t{}) || narrow_if(std::uint8_t{}) ||
                     narrow_if(std::int8_t{}) || narrow_if(std::int16_t{}) ||
                     narrow_if(std::uint16_t{}) || narrow_if(std::uint32_t{}) ||
                     narrow_if(std::uint64_t{});
  if (!known) {
    throw_invalid("python", "{} must have an integer dtype of 8 to 64 bits, got {}", name,
                  nb::str(nb::handle(dtype)).c_str());
  }
}

// The range is checked before a value is cut to 32 bits.
template <typename T>
void StatesArgument::narrow(std::string_view name, const T* values, std::size_t rows,
                            std::size_t dim, int num_categories) {
  copy_ = States(rows, dim);
  const auto end = static_cast<std::uint64_t>(num_categories);
  for (std::size_t i = 0; i < copy_.size(); ++i) {
    const T value = values[i];
    if (value < T{} || static_cast<std::uint64_t>(value) >= end) {
      throw_invalid("states", "{} must hold categories 0..{}, got {} at row {}, column {}", name,
                    num_categories - 1, value, i / dim, i % dim);
    }
    copy_.data()[i] = static_cast<std::int32_t>(value);
  }
}

States states_of_any_space(const char* name, const ArrayLike& given) {
  const nb::object array = given.to_numpy(name);
  const nb::object shape = array.attr("shape");
  // 0: of another shape, which is refused.
  const std::size_t dim = nb::len(shape) == 2 ? nb::cast<std::size_t>(shape[1]) : 0;
  return StatesArgument(name, {array}, dim, kMaxCategories).take();
}

Labels labels_argument(std::string_view name, const ArrayLike& given) {
  const nb::object array = given.to_numpy(name);
  const nb::object dtype = array.attr("dtype"), shape = array.attr("shape");
  const auto kind = nb::cast<std::string>(dtype.attr("kind"));
  if (std::string_view("iub").find(kind.at(0)) == std::string_view::npos || nb::len(shape) != 1) {
    throw_invalid("labels",
                  "{} must be integers [n], a label for each row, got shape {} of {}; "
                  "numpy.unique(labels, return_inverse=True)[1] numbers texts",
                  name, nb::str(shape).c_str(), nb::str(dtype).c_str());
  }
  const nb::object wide =
      nb::module_::import_("numpy").attr("ascontiguousarray")(array, "dtype"_a = "int64");
  const auto values =
      nb::cast<nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(wide);
  Labels labels(values.shape(0));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<Label>(values.data()[i]);
    if (labels[i] == values.data()[i]) continue;
    throw_invalid("labels", "{} must hold integers of 32 bits, got {}", name, values.data()[i]);
  }
  return labels;
}

void check_same_rows(std::size_t x0_rows, std::size_t x1_rows) {
  if (x0_rows != x1_rows) {
    throw_invalid("python", "x0 and x1 must have as many rows as each other, got {} and {}",
                  x0_rows, x1_rows);
  }
}

}  // namespace bridgemark::python
