#include "bridgemark/backend/cpu/tile_product.h"

#include <algorithm>

// Tiles are arrays of vectors, which vectors of unknown length cannot form.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/tile_product.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/highway.h>

#include "bridgemark/backend/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums of a tile stay in registers: 20 of 32, or 12 of 16.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 6;
#else
constexpr int kTileRows = 10;
#endif

// The arrays of a tile are taken apart by recursion: compilers hold an array in registers only
// where each index is a constant.

// sums[I..] += left[I..] times the vectors of x, where left[I] is element I of `a`.
template <int I, int Rows, int Columns, class D, class V, typename T>
HWY_INLINE void AddOuter(D d, const T* HWY_RESTRICT a, V group, const V (&x)[Columns],
                         V (&sums)[Rows][Columns]) {
  if constexpr (I < Rows) {
    constexpr int kGroup = 16 / sizeof(T);
    if constexpr (I % kGroup == 0) group = hn::LoadDup128(d, a + I);
    const V left = hn::Broadcast<I % kGroup>(group);
    sums[I][0] = hn::MulAdd(x[0], left, sums[I][0]);
    if constexpr (Columns > 1) sums[I][1] = hn::MulAdd(x[1], left, sums[I][1]);
    AddOuter<I + 1>(d, a, group, x, sums);
  }
}

template <int Columns, class D, class V, typename T>
HWY_INLINE void LoadColumns(D d, const T* x, V (&columns)[Columns]) {
  columns[0] = hn::LoadU(d, x);
  if constexpr (Columns > 1) columns[1] = hn::LoadU(d, x + hn::MaxLanes(d));
}

// The sums of row I and on go to memory.
template <int I, Into kInto, int Rows, int Columns, class D, class V, typename T>
HWY_INLINE void FinishRows(D d, const V (&sums)[Rows][Columns], T* out, std::size_t out_stride,
                           const T* factor, std::size_t factor_stride) {
  if constexpr (I < Rows) {
    for (std::size_t j = 0; j < Columns; ++j) {
      T* place = out + j * hn::MaxLanes(d);
      V sum = j == 0 ? sums[I][0] : sums[I][Columns - 1];
      if constexpr (kInto == Into::kAdd) sum = hn::Add(sum, hn::LoadU(d, place));
      if constexpr (kInto == Into::kMultiply) sum = hn::Mul(sum, hn::LoadU(d, place));
      if constexpr (kInto == Into::kAddAndMultiply) {
        sum =
            hn::Mul(hn::Add(sum, hn::LoadU(d, place)), hn::LoadU(d, factor + j * hn::MaxLanes(d)));
      }
      hn::StoreU(sum, d, place);
    }
    FinishRows<I + 1, kInto>(d, sums, out + out_stride, out_stride, factor + factor_stride,
                             factor_stride);
  }
}

// One tile of `Rows` rows and `Columns` vectors, of which `width` elements a row are wanted.
template <int Rows, int Columns, Into kInto, typename T>
HWY_INLINE void Tile(const Product<T>& p, std::size_t row, std::size_t column, std::size_t width) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t kWidth = Columns * hn::MaxLanes(d);
  V sums[Rows][Columns];
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Columns; ++j) sums[i][j] = hn::Zero(d);
  }
  T* out = p.out + row * p.out_stride + column;
  const T* factor = p.factor + (p.factor ? row * p.factor_stride + column : 0);
  const T* HWY_RESTRICT a = p.a + (p.packed ? row * p.inner : row);
  const std::size_t a_stride = p.packed ? kTileRows : p.a_stride;
  const T* HWY_RESTRICT x = p.x + column;
  for (std::size_t j = 0; j < p.inner; ++j, a += a_stride, x += p.x_stride) {
    V columns[Columns];
    LoadColumns(d, x, columns);
    AddOuter<0>(d, a, columns[0], columns, sums);
  }
  if (width == kWidth) {
    FinishRows<0, kInto>(d, sums, out, p.out_stride, factor, p.factor_stride);
    return;
  }
  T values[Rows * kWidth];
  FinishRows<0, Into::kStore>(d, sums, values, kWidth, values, kWidth);
  for (std::size_t i = 0; i < Rows; ++i) {
    for (std::size_t k = 0; k < width; ++k) {
      const T sum = values[i * kWidth + k];
      T& place = out[i * p.out_stride + k];
      if constexpr (kInto == Into::kStore) place = sum;
      if constexpr (kInto == Into::kAdd) place += sum;
      if constexpr (kInto == Into::kMultiply) place *= sum;
      if constexpr (kInto == Into::kAddAndMultiply) {
        place = (place + sum) * factor[i * p.factor_stride + k];
      }
    }
  }
}

// `Rows` rows of the result. Tiles go along the rows: what a tile reads of the left factor stays in
// the nearest cache, and so does the right factor, which is read again for the next rows.
template <int Rows, Into kInto, typename T>
HWY_INLINE void TileRow(const Product<T>& p, std::size_t row) {
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  for (std::size_t column = 0; column < p.columns; column += 2 * kLanes) {
    const std::size_t width = std::min(2 * kLanes, p.columns - column);
    if (width > kLanes) {
      Tile<Rows, 2, kInto>(p, row, column, width);
    } else {
      Tile<Rows, 1, kInto>(p, row, column, width);
    }
  }
}

// Rows that fill no whole tile.
template <int Rows, Into kInto, typename T>
HWY_INLINE void LastTileRow(const Product<T>& p, std::size_t row) {
  if constexpr (Rows > 0) {
    if (p.rows - row == Rows) {
      TileRow<Rows, kInto>(p, row);
    } else {
      LastTileRow<Rows - 1, kInto>(p, row);
    }
  }
}

template <Into kInto, typename T>
void Multiply(const Product<T>& p) {
  std::size_t row = 0;
  for (; row + kTileRows <= p.rows; row += kTileRows) TileRow<kTileRows, kInto>(p, row);
  LastTileRow<kTileRows - 1, kInto>(p, row);
}

template <typename T>
void PackLeft(const T* HWY_RESTRICT a, std::size_t stride, std::size_t rows, std::size_t inner,
              T* HWY_RESTRICT out) {
  for (std::size_t row = 0; row < rows; row += kTileRows) {
    const std::size_t count = std::min<std::size_t>(kTileRows, rows - row);
    for (std::size_t j = 0; j < inner; ++j, out += kTileRows) {
      if (count == kTileRows) {
        std::copy_n(a + j * stride + row, kTileRows, out);
      } else {
        std::copy_n(a + j * stride + row, count, out);
      }
    }
  }
}

template <typename T>
void MultiplyTransposed(const Product<T>& p, Into into) {
  switch (into) {
    case Into::kStore:
      return Multiply<Into::kStore>(p);
    case Into::kAdd:
      return Multiply<Into::kAdd>(p);
    case Into::kMultiply:
      return Multiply<Into::kMultiply>(p);
    case Into::kAddAndMultiply:
      return Multiply<Into::kAddAndMultiply>(p);
  }
}

BM_ENTRIES(PackLeft);
BM_ENTRIES(MultiplyTransposed);

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

BM_EXPORT(PackLeft);
template <typename T>
void pack_left(const T* a, std::size_t stride, std::size_t rows, std::size_t inner, T* out) {
  BM_BEST(PackLeft, T)(a, stride, rows, inner, out);
}
BM_INSTANTIATE(pack_left);

BM_EXPORT(MultiplyTransposed);
template <typename T>
void multiply_transposed(const Product<T>& product, Into into) {
  BM_BEST(MultiplyTransposed, T)(product, into);
}
BM_INSTANTIATE(multiply_transposed);

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
