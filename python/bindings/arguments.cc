#include "python/bindings/arguments.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <limits>
#include <string>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"

namespace nb = nanobind;

namespace bridgemark::python {

std::uint64_t WholeNumber::in_range(std::string_view name, std::uint64_t low,
                                    std::uint64_t high) const {
  const std::uint64_t value = PyLong_AsUnsignedLongLong(number.ptr());
  const bool beyond = PyErr_Occurred() != nullptr;  // negative, or more than 64 bits
  if (beyond) PyErr_Clear();
  if (beyond || value < low || value > high) {
    throw_invalid("python", "{} must lie in {}..{}, got {}", name, low, high,
                  nb::str(nb::handle(number)).c_str());
  }
  return value;
}

int WholeNumber::positive_int(std::string_view name) const {
  return static_cast<int>(in_range(name, 1, std::numeric_limits<int>::max()));
}

int WholeNumber::to_int(std::string_view name) const {
  using Limits = std::numeric_limits<int>;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0 || value < Limits::min() || value > Limits::max()) {
    throw_invalid("python", "{} must lie in {}..{}, got {}", name, Limits::min(), Limits::max(),
                  nb::str(nb::handle(number)).c_str());
  }
  return static_cast<int>(value);
}

nb::object ArrayLike::to_numpy(std::string_view name) const {
  const nb::module_ arrays = nb::module_::import_("bridgemark._arrays");
  return arrays.attr("to_numpy")(array, nb::str(name.data(), name.size()));
}

nb::object ArrayLike::answer(nb::object result) const {
  return nb::module_::import_("bridgemark._arrays").attr("like")(array, result);
}

StatesArgument::StatesArgument(std::string_view name, const ArrayLike& given, std::size_t dim,
                               int num_categories) {
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
    throw_invalid("python", "{} must have shape [rows, {}], got {}", name, dim,
                  nb::str(nb::handle(shape)).c_str());
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

void check_same_rows(const StatesArgument& x0, const StatesArgument& x1) {
  if (x0.rows() != x1.rows()) {
    throw_invalid("python", "x0 and x1 must have as many rows as each other, got {} and {}",
                  x0.rows(), x1.rows());
  }
}

}  // namespace bridgemark::python
