#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "bridgemark/core/array.h"
#include "bridgemark/core/labels.h"
#include "bridgemark/core/states.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/process/given_reference.h"

namespace bridgemark::python {

// An int argument of any size, or anything with __index__. It is read where its name and range are
// known, so that -1 and "3" are refused by name instead of by nanobind's list of signatures.
struct WholeNumber {
  nanobind::object given;

  // Throw InvalidArgument that names the argument, and TypeError for what is no int.
  std::uint64_t in_range(std::string_view name, std::uint64_t low, std::uint64_t high) const;
  int positive_int(std::string_view name) const;
  // Any int of C++: its range is the library's to check.
  int to_int(std::string_view name) const;
  std::size_t rows(std::string_view name) const { return in_range(name, 0, kMaxRows); }

 private:
  nanobind::object number(std::string_view name) const;
};

// A file or folder argument. Throws TypeError that names it for anything else.
struct PathArgument {
  nanobind::object given;

  std::filesystem::path path(std::string_view name) const;
};

// The seed of a call: an int, a numpy.random.Generator that one is drawn from, or None for a fresh
// one. It is read once: another reading draws another.
struct Seed {
  nanobind::object given;

  // Throws InvalidArgument for an int out of range, TypeError for anything else.
  std::uint64_t draw() const;
};

using Doubles = nanobind::ndarray<const double, nanobind::c_contig, nanobind::device::cpu>;

// Anything that numpy.asarray takes, or an array of another library that speaks DLPack.
struct ArrayLike {
  nanobind::object array;

  // Numbers of any type as an array of as many axes as the text of its shape, "[D,S]", names.
  // Throws InvalidArgument of that area that names the argument.
  Doubles doubles(std::string_view area, std::string_view name, std::string_view shape) const;

  // As a NumPy array, copied from its device where that is not the host. Throws InvalidArgument
  // that names the argument where this cannot be.
  nanobind::object to_numpy(std::string_view name) const;

  // A reference process: its name, the probabilities [S,S] of an elementary step, a tuple (U, V) of
  // factors of low rank, [S,r] each, or the weights of a graph: a sparse matrix of scipy or the
  // tuple (data, indices, indptr) of one in the format CSR.
  GivenReference reference(std::string_view area) const;

  // A NumPy array in the library and on the device of this one; NumPy stays NumPy.
  nanobind::object answer(nanobind::object result) const;
};

// A pair where one is asked for: itself, a preset's name or a pair folder. Throws TypeError for
// anything else.
struct PairArgument {
  nanobind::object given;

  BenchmarkPair pair() const;
};

// States [B,D] out of an array of any integer type, strides and byte order: a copy that is checked,
// so that what other threads write into the array meanwhile does no harm. Made with the GIL held.
class StatesArgument {
 public:
  // Throws InvalidArgument unless the array is [B,dim] of integers in 0..num_categories-1. `name`
  // is how the message calls the argument.
  StatesArgument(std::string_view name, const ArrayLike& given, std::size_t dim,
                 int num_categories);

  StatesView view() const { return copy_; }
  std::size_t rows() const { return copy_.rows(); }

  // The states with memory of their own.
  States take() && { return std::move(copy_); }

 private:
  template <typename T>
  void narrow(std::string_view name, const T* values, std::size_t rows, std::size_t dim,
              int num_categories);

  States copy_;
};

// States of any categories that there may be; whose space they are is checked with all else.
States states_of_any_space(const char* name, const ArrayLike& given);

// A label for each row: integers [n]. Throws InvalidArgument that names the argument.
Labels labels_argument(std::string_view name, const ArrayLike& given);

// Throws InvalidArgument unless both have the same number of rows.
void check_same_rows(std::size_t x0_rows, std::size_t x1_rows);

}  // namespace bridgemark::python

namespace nanobind::detail {

template <>
struct type_caster<bridgemark::python::WholeNumber> {
  NB_TYPE_CASTER(bridgemark::python::WholeNumber, const_name("int"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.given = borrow(source);
    return true;
  }
};

template <>
struct type_caster<bridgemark::python::PathArgument> {
  NB_TYPE_CASTER(bridgemark::python::PathArgument, const_name("str | os.PathLike[str]"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.given = borrow(source);
    return true;
  }
};

template <>
struct type_caster<bridgemark::python::Seed> {
  NB_TYPE_CASTER(bridgemark::python::Seed, const_name("int | numpy.random.Generator | None"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.given = borrow(source);
    return true;
  }
};

template <>
struct type_caster<bridgemark::python::PairArgument> {
  NB_TYPE_CASTER(bridgemark::python::PairArgument, const_name("Pair | str | os.PathLike[str]"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.given = borrow(source);
    return true;
  }
};

template <>
struct type_caster<bridgemark::python::ArrayLike> {
  NB_TYPE_CASTER(bridgemark::python::ArrayLike, const_name("numpy.typing.ArrayLike"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.array = borrow(source);
    return true;
  }
};

}  // namespace nanobind::detail
