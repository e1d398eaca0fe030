#pragma once

#include <type_traits>

// From a function template of each Highway target to a public one, for float and double; Highway
// itself hands on plain functions only. For a file that includes <hwy/highway.h> before this.

// In the target's namespace: its entries for NAME<float> and NAME<double>.
#define BM_ENTRIES(NAME)                            \
  static constexpr auto& NAME##Float = NAME<float>; \
  static constexpr auto& NAME##Double = NAME<double>

// Once, before BM_BEST.
#define BM_EXPORT(NAME)    \
  HWY_EXPORT(NAME##Float); \
  HWY_EXPORT(NAME##Double)

// NAME<T> of the best target, to be called.
#define BM_BEST(NAME, T)                         \
  [] {                                           \
    if constexpr (std::is_same_v<T, float>) {    \
      return HWY_DYNAMIC_DISPATCH(NAME##Float);  \
    } else {                                     \
      return HWY_DYNAMIC_DISPATCH(NAME##Double); \
    }                                            \
  }()

// The public template, once it is defined.
#define BM_INSTANTIATE(NAME)                  \
  template decltype(NAME<float>) NAME<float>; \
  template decltype(NAME<double>) NAME<double>
