#include "bridgemark/backend/cpu/simd/kernel_sums.h"

#include <limits>

// The eight rows are an array of vectors, which vectors of unknown length cannot form.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/simd/kernel_sums.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<double, kKernelRows>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
constexpr int kVectors = static_cast<int>(kKernelRows / kLanes);

// Values of the eight rows are arrays of vectors, taken apart by recursion: compilers hold an array
// in registers only where each index is a constant.

template <int I = 0>
HWY_INLINE void Load(const double* HWY_RESTRICT from, V (&rows)[kVectors]) {
  if constexpr (I < kVectors) {
    rows[I] = hn::LoadU(D(), from + I * kLanes);
    Load<I + 1>(from, rows);
  }
}

template <int I = 0>
HWY_INLINE void Store(const V (&rows)[kVectors], double* HWY_RESTRICT to) {
  if constexpr (I < kVectors) {
    hn::StoreU(rows[I], D(), to + I * kLanes);
    Store<I + 1>(rows, to);
  }
}

template <int I = 0>
HWY_INLINE void AddLoaded(const double* HWY_RESTRICT from, V (&rows)[kVectors]) {
  if constexpr (I < kVectors) {
    rows[I] = hn::Add(rows[I], hn::LoadU(D(), from + I * kLanes));
    AddLoaded<I + 1>(from, rows);
  }
}

template <int I = 0>
HWY_INLINE void TakeMaximum(const V (&other)[kVectors], V (&rows)[kVectors]) {
  if constexpr (I < kVectors) {
    rows[I] = hn::Max(rows[I], other[I]);
    TakeMaximum<I + 1>(other, rows);
  }
}

// Terms below exp(-45) of the largest, 2^-64, are left out.
constexpr double kLowestTerm = -45.0;

template <int I = 0>
HWY_INLINE void Subtract(const V (&shift)[kVectors], V (&rows)[kVectors]) {
  if constexpr (I < kVectors) {
    rows[I] = hn::Sub(rows[I], shift[I]);
    Subtract<I + 1>(shift, rows);
  }
}

template <int I = 0>
HWY_INLINE V Largest(const V (&rows)[kVectors]) {
  if constexpr (I + 1 < kVectors) {
    return hn::Max(rows[I], Largest<I + 1>(rows));
  } else {
    return rows[I];
  }
}

// sums += exp(x), without a branch.
template <int I = 0>
HWY_INLINE void AddExponentials(const V (&x)[kVectors], V (&sums)[kVectors]) {
  if constexpr (I < kVectors) {
    const D d;
    const V floor = hn::Set(d, kLowestTerm);
    // The exponential itself is never given -inf, which emulated vectors refuse.
    const V terms = hn::Exp(d, hn::Max(x[I], floor));
    sums[I] = hn::Add(sums[I], hn::IfThenElseZero(hn::Ge(x[I], floor), terms));
    AddExponentials<I + 1>(x, sums);
  }
}

void AddKernelLogs(const double* HWY_RESTRICT tables, std::size_t dim, std::size_t num_categories,
                   std::size_t first, std::size_t last, const std::uint16_t* HWY_RESTRICT columns,
                   std::size_t count, double* HWY_RESTRICT logs) {
  const std::size_t of_coordinate = num_categories * kKernelRows;
  for (std::size_t j = 0; j < count; ++j) {
    const std::uint16_t* column = columns + j * dim;
    const double* table = tables + first * of_coordinate;
    V sums[kVectors];
    Load(logs + j * kKernelRows, sums);
    for (std::size_t d = first; d < last; ++d, table += of_coordinate) {
      AddLoaded(table + column[d] * kKernelRows, sums);
    }
    Store(sums, logs + j * kKernelRows);
  }
}

void AddLogTerms(const double* HWY_RESTRICT logs, std::size_t count, double* HWY_RESTRICT high,
                 double* HWY_RESTRICT sum) {
  const D d;
  V before[kVectors], highest[kVectors], shift[kVectors], sums[kVectors];
  Load(high, before);
  Load(high, highest);
  for (std::size_t j = 0; j < count; ++j) {
    V terms[kVectors];
    Load(logs + j * kKernelRows, terms);
    TakeMaximum(terms, highest);
  }
  Store(highest, high);
  // A row without any term yet is shifted by 0 instead of -inf.
  for (int i = 0; i < kVectors; ++i) {
    const auto none = hn::Eq(highest[i], hn::Set(d, -std::numeric_limits<double>::infinity()));
    shift[i] = hn::IfThenZeroElse(none, highest[i]);
  }
  // What was summed so far, seen from the new maximum.
  Load(sum, sums);
  for (int i = 0; i < kVectors; ++i) {
    const V floor = hn::Set(d, -700.0);
    const V x = hn::Sub(before[i], shift[i]);
    const V factor = hn::IfThenElseZero(hn::Ge(x, floor), hn::Exp(d, hn::Max(x, floor)));
    sums[i] = hn::Mul(sums[i], factor);
  }
  for (std::size_t j = 0; j < count; ++j) {
    V terms[kVectors];
    Load(logs + j * kKernelRows, terms);
    Subtract(shift, terms);
    // One branch for the eight rows: one for each vector is mispredicted too often.
    if (hn::AllFalse(d, hn::Ge(Largest(terms), hn::Set(d, kLowestTerm)))) continue;
    AddExponentials(terms, sums);
  }
  Store(sums, sum);
}

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

HWY_EXPORT(AddKernelLogs);
HWY_EXPORT(AddLogTerms);

void add_kernel_logs(const double* tables, std::size_t dim, std::size_t num_categories,
                     std::size_t first, std::size_t last, const std::uint16_t* columns,
                     std::size_t count, double* logs) {
  HWY_DYNAMIC_DISPATCH(AddKernelLogs)
  (tables, dim, num_categories, first, last, columns, count, logs);
}

void add_log_terms(const double* logs, std::size_t count, double* high, double* sum) {
  HWY_DYNAMIC_DISPATCH(AddLogTerms)(logs, count, high, sum);
}

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
