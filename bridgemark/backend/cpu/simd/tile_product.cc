#include "bridgemark/backend/cpu/simd/tile_product.h"

#include <algorithm>
#include <type_traits>

// Tiles are arrays of vectors, which vectors of unknown length cannot form. SSSE3 is left to the
// scalar form: x86 machines without SSE4 are rare, and each set takes seconds to compile.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/simd/tile_product.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/highway.h>

#include "bridgemark/backend/cpu/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums of a tile stay in registers: 18 or 24 of 32, or 12 of 16.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 || \
    HWY_TARGET == HWY_SCALAR
constexpr bool kManyRegisters = false;
constexpr int kRowColumns = 2;
constexpr int kGroupColumns = 2;
#else
constexpr bool kManyRegisters = true;
constexpr int kRowColumns = 3;
constexpr int kGroupColumns = 4;
#endif

// Element I of the 16 bytes at `a`, which `group` repeats, in every lane. The scalar target, x86's
// lowest, has one lane and no groups.
template <int I, class D, class V, typename T>
HWY_INLINE V Spread(D d, V group, const T* HWY_RESTRICT a) {
#if HWY_TARGET == HWY_SCALAR
  (void)group;
  return hn::Set(d, a[I]);
#else
  (void)d, (void)a;
  return hn::Broadcast<I>(group);
#endif
}

// The arrays of a tile are taken apart by recursion: compilers hold an array in registers only
// where each index is a constant.

template <int J = 0, int Columns, class D, class V, typename T>
HWY_INLINE void LoadColumns(D d, const T* x, V (&columns)[Columns]) {
  if constexpr (J < Columns) {
    columns[J] = hn::LoadU(d, x + J * hn::MaxLanes(d));
    LoadColumns<J + 1>(d, x, columns);
  }
}

// sums += left times the vectors of x; the first time they are set.
template <bool kFirst, int J = 0, int Columns, class V>
HWY_INLINE void AddRow(V left, const V (&x)[Columns], V (&sums)[Columns]) {
  if constexpr (J < Columns) {
    sums[J] = kFirst ? hn::Mul(x[J], left) : hn::MulAdd(x[J], left, sums[J]);
    AddRow<kFirst, J + 1>(left, x, sums);
  }
}

// The same for each row I.., whose `left` is element I of `a`.
template <bool kFirst, int I = 0, int Rows, int Columns, class D, class V, typename T>
HWY_INLINE void AddOuter(D d, const T* HWY_RESTRICT a, V group, const V (&x)[Columns],
                         V (&sums)[Rows][Columns]) {
  if constexpr (I < Rows) {
    constexpr int kGroup = 16 / sizeof(T), kElement = I % kGroup;
    if constexpr (kElement == 0) group = hn::LoadDup128(d, a + I);
    AddRow<kFirst>(Spread<kElement>(d, group, a + I - kElement), x, sums[I]);
    AddOuter<kFirst, I + 1>(d, a, group, x, sums);
  }
}

// A row's sums go to memory.
template <Into kInto, int J = 0, int Columns, class D, class V, typename T>
HWY_INLINE void FinishRow(D d, const V (&sums)[Columns], T* out, const T* addend, const T* factor) {
  if constexpr (J < Columns) {
    T* place = out + J * hn::MaxLanes(d);
    V sum = sums[J];
    if constexpr (kInto == Into::kAdd) sum = hn::Add(sum, hn::LoadU(d, place));
    if constexpr (kInto == Into::kMultiply) sum = hn::Mul(sum, hn::LoadU(d, place));
    if constexpr (kInto == Into::kAddAndMultiply) {
      sum = hn::Mul(hn::Add(sum, hn::LoadU(d, addend + J * hn::MaxLanes(d))),
                    hn::LoadU(d, factor + J * hn::MaxLanes(d)));
    }
    hn::StoreU(sum, d, place);
    FinishRow<kInto, J + 1>(d, sums, out, addend, factor);
  }
}

// The sums of row I and on go to memory; place(I) is its place in `out`, factor(I) in the factor.
template <Into kInto, int I = 0, int Rows, int Columns, class D, class V, class Place, class Factor>
HWY_INLINE void FinishRows(D d, const V (&sums)[Rows][Columns], const Place& place,
                           const Factor& addend, const Factor& factor) {
  if constexpr (I < Rows) {
    FinishRow<kInto>(d, sums[I], place(I), addend(I), factor(I));
    FinishRows<kInto, I + 1>(d, sums, place, addend, factor);
  }
}

// One tile of `Rows` rows and `Columns` vectors, of which `width` elements a row are wanted:
// `count` terms, at least one, of which left(j) and right(j) are the factors' rows.
template <int Rows, int Columns, Into kInto, typename T, class Left, class Right, class Place,
          class Factor>
HWY_INLINE void Tile(std::size_t count, std::size_t width, const Left& left, const Right& right,
                     const Place& place, const Factor& addend, const Factor& factor) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t kWidth = Columns * hn::MaxLanes(d);
  V sums[Rows][Columns], columns[Columns];
  // The next addresses are made ready ahead: indices take their time.
  LoadColumns(d, right(0), columns);
  const T *a = left(1), *x = right(1);
  AddOuter<true>(d, left(0), columns[0], columns, sums);
  for (std::size_t j = 2; j <= count; ++j) {
    LoadColumns(d, x, columns);
    const T* a_now = a;
    a = left(j);
    x = right(j);
    AddOuter<false>(d, a_now, columns[0], columns, sums);
  }
  if (width == kWidth) {
    FinishRows<kInto>(d, sums, place, addend, factor);
    return;
  }
  T values[Rows * kWidth];
  const auto value_row = [&](int i) { return values + static_cast<std::size_t>(i) * kWidth; };
  FinishRows<Into::kStore>(d, sums, value_row, value_row, value_row);
  for (int i = 0; i < Rows; ++i) {
    for (std::size_t k = 0; k < width; ++k) {
      const T sum = value_row(i)[k];
      T& out = place(i)[k];
      if constexpr (kInto == Into::kStore) out = sum;
      if constexpr (kInto == Into::kMultiply) out *= sum;
      if constexpr (kInto == Into::kAddAndMultiply) out = (addend(i)[k] + sum) * factor(i)[k];
    }
  }
}

// Calls tile(columns, column, width) along a row of tiles, where `columns` is a constant of as many
// vectors as a tile has, or 1 for what is left. What a tile reads of the left factor stays in the
// nearest cache, and so does the right factor, which is read again for the next rows.
template <int Columns, typename T, class Body>
HWY_INLINE void EachTile(std::size_t columns, const Body& tile) {
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<T>()), kWidth = Columns * kLanes;
  std::size_t column = 0;
  for (; column + kWidth - kLanes < columns; column += kWidth) {
    tile(std::integral_constant<int, Columns>(), column, std::min(kWidth, columns - column));
  }
  for (; column < columns; column += kLanes) {
    tile(std::integral_constant<int, 1>(), column, std::min(kLanes, columns - column));
  }
}

// Calls body with a constant of as many rows as are left, of Rows at most.
template <int Rows, class Body>
HWY_INLINE void WithRows(std::size_t left, const Body& body) {
  if constexpr (Rows > 0) {
    if (left >= Rows) {
      body(std::integral_constant<int, Rows>());
    } else {
      WithRows<Rows - 1>(left, body);
    }
  }
}

// sums[I..] += element j + Q of each row of the left factor times the vectors of x.
template <int Q, int I = 0, int Rows, int Columns, class D, class V, typename T>
HWY_INLINE void AddElements(D d, const T* const (&a)[Rows], std::size_t j, const V (&held)[Rows],
                            const V (&x)[Columns], V (&sums)[Rows][Columns]) {
  if constexpr (I < Rows) {
    AddRow<false>(kManyRegisters ? Spread<Q>(d, held[I], a[I] + j) : hn::Set(d, a[I][j + Q]), x,
                  sums[I]);
    AddElements<Q, I + 1>(d, a, j, held, x, sums);
  }
}

// The same for the elements j + Q.. of a group of 16 bytes, which `held` has; rows of x from Q on.
template <int Q = 0, int Rows, int Columns, class D, class V, typename T>
HWY_INLINE void AddGroup(D d, const T* const (&a)[Rows], std::size_t j, const V (&held)[Rows],
                         const T* HWY_RESTRICT x, std::size_t x_stride, V (&sums)[Rows][Columns]) {
  if constexpr (Q < 16 / sizeof(T)) {
    V columns[Columns];
    LoadColumns(d, x, columns);
    AddElements<Q>(d, a, j, held, columns, sums);
    AddGroup<Q + 1>(d, a, j, held, x + x_stride, x_stride, sums);
  }
}

template <int I = 0, int Rows, class D, class V, typename T>
HWY_INLINE void HoldGroup(D d, const T* const (&a)[Rows], std::size_t j, V (&held)[Rows]) {
  if constexpr (I < Rows) {
    held[I] = kManyRegisters ? hn::LoadDup128(d, a[I] + j) : hn::Zero(d);
    HoldGroup<I + 1>(d, a, j, held);
  }
}

template <int Rows, int Columns, Into kInto, typename T, class Place>
HWY_INLINE void RowTile(std::size_t inner, const T* const (&a)[Rows], const T* HWY_RESTRICT x,
                        std::size_t x_stride, const Place& place) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V sums[Rows][Columns], held[Rows];
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Columns; ++j) sums[i][j] = hn::Zero(d);
  }
  constexpr std::size_t kGroup = 16 / sizeof(T);
  for (std::size_t j = 0; j < inner; j += kGroup, x += kGroup * x_stride) {
    HoldGroup(d, a, j, held);
    AddGroup(d, a, j, held, x, x_stride, sums);
  }
  const auto none = [](int) { return static_cast<const T*>(nullptr); };
  FinishRows<kInto>(d, sums, place, none, none);
}

template <Into kInto, typename T>
void MultiplyEachRow(const RowProduct<T>& p) {
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const Band* band = p.columns;
  for (std::size_t row = 0; row < p.rows; row += kGroupRows, ++band) {
    // Whole vectors, which must not go beyond those of the row.
    const std::size_t columns = (band->last - band->first + kLanes - 1) / kLanes * kLanes;
    const std::size_t first =
        std::min<std::size_t>(band->first, (band->last + kLanes - 1) / kLanes * kLanes - columns);
    WithRows<kGroupRows>(p.rows - row, [&](auto rows) HWY_ATTR {
      const T* a[rows()];
      T* out[rows()];
      for (std::size_t i = 0; i < rows(); ++i) {
        a[i] = p.a + (p.a_rows ? p.a_rows[row + i] : row + i) * p.a_stride;
        out[i] = p.out + (p.out_rows ? p.out_rows[row + i] : row + i) * p.out_stride + first;
      }
      EachTile<kRowColumns, T>(
          columns, [&](auto vectors, std::size_t column, std::size_t) HWY_ATTR {
            RowTile<rows(), vectors(), kInto>(p.inner, a, p.x + first + column, p.x_stride,
                                              [&](int i) { return out[i] + column; });
          });
    });
  }
}

template <Into kInto, typename T>
void MultiplyEachGroup(const GroupedProduct<T>& p) {
  const T* HWY_RESTRICT a = p.a;
  const Terms* terms = p.terms;
  for (std::size_t row = 0; row < p.rows; row += kGroupRows, ++terms) {
    WithRows<kGroupRows>(p.rows - row, [&](auto rows) HWY_ATTR {
      T* out[rows()];
      const T *addend[rows()] = {}, *factor[rows()] = {};
      for (std::size_t i = 0; i < rows(); ++i) {
        const std::size_t at = p.out_rows ? p.out_rows[row + i] : row + i;
        out[i] = p.out + at * p.out_stride;
        if constexpr (kInto == Into::kAddAndMultiply) {
          addend[i] = p.addend + at * p.factor_stride;
          factor[i] = p.factor + at * p.factor_stride;
        }
      }
      const std::uint32_t* HWY_RESTRICT indices = terms->indices;
      EachTile<kGroupColumns, T>(
          p.columns, [&](auto columns, std::size_t column, std::size_t width) HWY_ATTR {
            const T* HWY_RESTRICT x = p.x + column;
            const auto at_column = [column](const T* const* of) {
              return [of, column](int i) { return of[i] ? of[i] + column : nullptr; };
            };
            Tile<rows(), columns(), kInto, T>(
                terms->count, width, [&](std::size_t j) { return a + j * kGroupStride; },
                [&](std::size_t j) { return x + indices[j] * p.x_stride; },
                [&](int i) { return out[i] + column; }, at_column(addend), at_column(factor));
          });
    });
    a += terms->count * kGroupStride;
  }
}

template <typename T>
void MultiplyRows(const RowProduct<T>& p, Into into) {
  return into == Into::kAdd ? MultiplyEachRow<Into::kAdd>(p) : MultiplyEachRow<Into::kStore>(p);
}

template <typename T>
void MultiplyGrouped(const GroupedProduct<T>& p, Into into) {
  if (into == Into::kMultiply) return MultiplyEachGroup<Into::kMultiply>(p);
  if (into == Into::kAddAndMultiply) return MultiplyEachGroup<Into::kAddAndMultiply>(p);
  MultiplyEachGroup<Into::kStore>(p);
}

BM_ENTRIES(MultiplyRows);
BM_ENTRIES(MultiplyGrouped);

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

BM_EXPORT(MultiplyRows);
template <typename T>
void multiply_rows(const RowProduct<T>& product, Into into) {
  BM_BEST(MultiplyRows, T)(product, into);
}
BM_INSTANTIATE(multiply_rows);

BM_EXPORT(MultiplyGrouped);
template <typename T>
void multiply_grouped(const GroupedProduct<T>& product, Into into) {
  BM_BEST(MultiplyGrouped, T)(product, into);
}
BM_INSTANTIATE(multiply_grouped);

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
