#include "bridgemark/backend/cpu/tile_product.h"

#include <algorithm>
#include <vector>

// Tiles are arrays of vectors, which vectors of unknown length cannot form.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/tile_product.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums of a tile stay in registers: 20 of 32, or 12 of 16.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 6;
constexpr int kDotRows = 3, kDotColumns = 3;
#else
constexpr int kTileRows = 10;
constexpr int kDotRows = 4, kDotColumns = 5;
#endif

// sums[I..] += a[I..] times the two vectors of x.
template <int I, int Rows, class D, class V, typename T>
HWY_INLINE void AddOuter(D d, const T* HWY_RESTRICT a, V group, V left, V right,
                         V (&sums)[Rows][2]) {
  if constexpr (I < Rows) {
    constexpr int kGroup = 16 / sizeof(T);
    if constexpr (I % kGroup == 0) group = hn::LoadDup128(d, a + I);
    const V value = hn::Broadcast<I % kGroup>(group);
    sums[I][0] = hn::MulAdd(left, value, sums[I][0]);
    sums[I][1] = hn::MulAdd(right, value, sums[I][1]);
    AddOuter<I + 1, Rows>(d, a, group, left, right, sums);
  }
}

// The sums of row I and on go to memory. (A loop over rows would keep the sums there from the
// start: compilers hold an array in registers only where each index is a constant.)
template <int I, Into kInto, int Rows, class D, class V, typename T>
HWY_INLINE void FinishRows(D d, const V (&sums)[Rows][2], std::size_t columns, T* out,
                           const T* factor) {
  if constexpr (I < Rows) {
    const std::size_t at = static_cast<std::size_t>(I) * columns;
    for (std::size_t half = 0; half < 2; ++half) {
      T* place = out + at + half * hn::MaxLanes(d);
      V sum = half == 0 ? sums[I][0] : sums[I][1];
      if constexpr (kInto == Into::kMultiply) sum = hn::Mul(sum, hn::LoadU(d, place));
      if constexpr (kInto == Into::kAddAndMultiply) {
        sum = hn::Mul(hn::Add(sum, hn::LoadU(d, place)),
                      hn::LoadU(d, factor + at + half * hn::MaxLanes(d)));
      }
      hn::StoreU(sum, d, place);
    }
    FinishRows<I + 1, kInto>(d, sums, columns, out, factor);
  }
}

// One tile of `Rows` rows and a panel's columns; panel is [inner, 2 vectors].
template <int Rows, Into kInto, typename T>
HWY_INLINE void OuterTile(const T* HWY_RESTRICT a, std::size_t stride, const T* HWY_RESTRICT panel,
                          std::size_t inner, std::size_t width, std::size_t columns, T* out,
                          const T* factor) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  V sums[Rows][2];
  for (int i = 0; i < Rows; ++i) sums[i][0] = sums[i][1] = hn::Zero(d);
  for (std::size_t j = 0; j < inner; ++j) {
    const V left = hn::LoadU(d, panel + 2 * kLanes * j);
    const V right = hn::LoadU(d, panel + 2 * kLanes * j + kLanes);
    AddOuter<0, Rows>(d, a + j * stride, left, left, right, sums);
  }
  if (width == 2 * kLanes) {
    FinishRows<0, kInto>(d, sums, columns, out, factor);
    return;
  }
  T values[Rows * 2 * kLanes];
  FinishRows<0, Into::kStore>(d, sums, 2 * kLanes, values, values);
  for (std::size_t i = 0; i < Rows; ++i) {
    for (std::size_t k = 0; k < width; ++k) {
      const T sum = values[i * 2 * kLanes + k];
      T& place = out[i * columns + k];
      if constexpr (kInto == Into::kStore) place = sum;
      if constexpr (kInto == Into::kMultiply) place *= sum;
      if constexpr (kInto == Into::kAddAndMultiply) {
        place = (place + sum) * factor[i * columns + k];
      }
    }
  }
}

// Rows that fill no whole tile.
template <int Rows, Into kInto, typename T>
HWY_INLINE void LastOuterTile(std::size_t left, const T* a, std::size_t stride, const T* panel,
                              std::size_t inner, std::size_t width, std::size_t columns, T* out,
                              const T* factor) {
  if constexpr (Rows > 0) {
    if (left == Rows) {
      OuterTile<Rows, kInto>(a, stride, panel, inner, width, columns, out, factor);
    } else {
      LastOuterTile<Rows - 1, kInto>(left, a, stride, panel, inner, width, columns, out, factor);
    }
  }
}

template <Into kInto, typename T>
void MultiplyTransposed(const T* HWY_RESTRICT a, const T* HWY_RESTRICT x, std::size_t rows,
                        std::size_t inner, std::size_t columns, T* out, const T* factor) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t kWidth = 2 * hn::MaxLanes(d);
  std::vector<T> panel(inner * kWidth);
  for (std::size_t k = 0; k < columns; k += kWidth) {
    const std::size_t width = std::min(kWidth, columns - k);
    for (std::size_t j = 0; j < inner; ++j) {
      const T* from = x + j * columns + k;
      T* to = panel.data() + j * kWidth;
      if (width == kWidth) {
        hn::StoreU(hn::LoadU(d, from), d, to);
        hn::StoreU(hn::LoadU(d, from + kWidth / 2), d, to + kWidth / 2);
      } else {
        std::copy_n(from, width, to);
      }
    }
    std::size_t i = 0;
    for (; i + kTileRows <= rows; i += kTileRows) {
      OuterTile<kTileRows, kInto>(a + i, rows, panel.data(), inner, width, columns,
                                  out + i * columns + k,
                                  factor ? factor + i * columns + k : nullptr);
    }
    LastOuterTile<kTileRows - 1, kInto>(rows - i, a + i, rows, panel.data(), inner, width, columns,
                                        out + i * columns + k,
                                        factor ? factor + i * columns + k : nullptr);
  }
}

// sums[I][..] += row I of a times each vector of x.
template <int I, int Rows, int Columns, class D, class V, typename T>
HWY_INLINE void AddDots(D d, const T* HWY_RESTRICT a, std::size_t stride, const V (&right)[Columns],
                        V (&sums)[Rows][Columns]) {
  if constexpr (I < Rows) {
    const V left = hn::LoadU(d, a + static_cast<std::size_t>(I) * stride);
    sums[I][0] = hn::MulAdd(left, right[0], sums[I][0]);
    if constexpr (Columns > 1) sums[I][1] = hn::MulAdd(left, right[1], sums[I][1]);
    if constexpr (Columns > 2) sums[I][2] = hn::MulAdd(left, right[2], sums[I][2]);
    if constexpr (Columns > 3) sums[I][3] = hn::MulAdd(left, right[3], sums[I][3]);
    if constexpr (Columns > 4) sums[I][4] = hn::MulAdd(left, right[4], sums[I][4]);
    static_assert(Columns <= 5);
    AddDots<I + 1>(d, a, stride, right, sums);
  }
}

template <int I, int Rows, int Columns, class D, class V, typename T>
HWY_INLINE void StoreDots(D d, const V (&sums)[Rows][Columns], T* out) {
  if constexpr (I < Rows * Columns) {
    out[I] = hn::GetLane(hn::SumOfLanes(d, sums[I / Columns][I % Columns]));
    StoreDots<I + 1>(d, sums, out);
  }
}

// A tile of scalar products of rows.
template <int Rows, int Columns, typename T>
HWY_INLINE void DotTile(const T* HWY_RESTRICT a, const T* HWY_RESTRICT x, std::size_t inner,
                        std::size_t columns, T* out) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  V sums[Rows][Columns];
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Columns; ++j) sums[i][j] = hn::Zero(d);
  }
  std::size_t k = 0;
  for (; k + lanes <= inner; k += lanes) {
    V right[Columns];
    for (int j = 0; j < Columns; ++j) {
      right[j] = hn::LoadU(d, x + static_cast<std::size_t>(j) * inner + k);
    }
    AddDots<0>(d, a + k, inner, right, sums);
  }
  T values[Rows * Columns];
  StoreDots<0>(d, sums, values);
  for (std::size_t i = 0; i < Rows; ++i) {
    for (std::size_t j = 0; j < Columns; ++j) {
      T sum = values[i * Columns + j];
      for (std::size_t rest = k; rest < inner; ++rest) {
        sum += a[i * inner + rest] * x[j * inner + rest];
      }
      out[i * columns + j] = sum;
    }
  }
}

template <int Rows, typename T>
HWY_INLINE void DotRows(const T* a, const T* x, std::size_t columns, std::size_t inner, T* out) {
  std::size_t j = 0;
  for (; j + kDotColumns <= columns; j += kDotColumns) {
    DotTile<Rows, kDotColumns>(a, x + j * inner, inner, columns, out + j);
  }
  for (; j < columns; ++j) DotTile<Rows, 1>(a, x + j * inner, inner, columns, out + j);
}

template <typename T>
void MultiplyRows(const T* HWY_RESTRICT a, const T* HWY_RESTRICT x, std::size_t rows,
                  std::size_t columns, std::size_t inner, T* HWY_RESTRICT out) {
  std::size_t i = 0;
  for (; i + kDotRows <= rows; i += kDotRows) {
    DotRows<kDotRows>(a + i * inner, x, columns, inner, out + i * columns);
  }
  for (; i < rows; ++i) DotRows<1>(a + i * inner, x, columns, inner, out + i * columns);
}

// One dispatch entry for each element type.
#define BM_ENTRIES(TYPE, SUFFIX)                                                                   \
  void MultiplyTransposed##SUFFIX(const TYPE* a, const TYPE* x, std::size_t rows,                  \
                                  std::size_t inner, std::size_t columns, Into into, TYPE* out,    \
                                  const TYPE* factor) {                                            \
    switch (into) {                                                                                \
      case Into::kStore:                                                                           \
        return MultiplyTransposed<Into::kStore>(a, x, rows, inner, columns, out, factor);          \
      case Into::kMultiply:                                                                        \
        return MultiplyTransposed<Into::kMultiply>(a, x, rows, inner, columns, out, factor);       \
      case Into::kAddAndMultiply:                                                                  \
        return MultiplyTransposed<Into::kAddAndMultiply>(a, x, rows, inner, columns, out, factor); \
    }                                                                                              \
  }                                                                                                \
  void MultiplyRows##SUFFIX(const TYPE* a, const TYPE* x, std::size_t rows, std::size_t columns,   \
                            std::size_t inner, TYPE* out) {                                        \
    MultiplyRows<TYPE>(a, x, rows, columns, inner, out);                                           \
  }

BM_ENTRIES(float, F)
BM_ENTRIES(double, D)
#undef BM_ENTRIES

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

// The public template of one element type calls the best target's entry.
#define BM_DISPATCH(TYPE, SUFFIX)                                                               \
  HWY_EXPORT(MultiplyTransposed##SUFFIX);                                                       \
  HWY_EXPORT(MultiplyRows##SUFFIX);                                                             \
  template <>                                                                                   \
  void multiply_transposed<TYPE>(const TYPE* a, const TYPE* x, std::size_t rows,                \
                                 std::size_t inner, std::size_t columns, Into into, TYPE* out,  \
                                 const TYPE* factor) {                                          \
    HWY_DYNAMIC_DISPATCH(MultiplyTransposed##SUFFIX)                                            \
    (a, x, rows, inner, columns, into, out, factor);                                            \
  }                                                                                             \
  template <>                                                                                   \
  void multiply_rows<TYPE>(const TYPE* a, const TYPE* x, std::size_t rows, std::size_t columns, \
                           std::size_t inner, TYPE* out) {                                      \
    HWY_DYNAMIC_DISPATCH(MultiplyRows##SUFFIX)(a, x, rows, columns, inner, out);                \
  }

BM_DISPATCH(float, F)
BM_DISPATCH(double, D)
#undef BM_DISPATCH

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
