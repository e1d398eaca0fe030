#include "bridgemark/backend/cpu/transpose.h"

// Squares of 16 bytes a side: longer vectors would gain nothing.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/transpose.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/highway.h>

#include "bridgemark/backend/cpu/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// load(d, row) gives the rows of a square.
template <class Load>
HWY_INLINE void TransposeSquare(const Load& load, float* out, std::size_t out_stride) {
  const hn::CappedTag<float, 4> d;
  const hn::CappedTag<double, 2> pairs;
  const auto a = load(d, 0), b = load(d, 1), c = load(d, 2), e = load(d, 3);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)),
             ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b)),
             ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e)),
             ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, out + out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, out + 2 * out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, out + 3 * out_stride);
}

template <class Load>
HWY_INLINE void TransposeSquare(const Load& load, double* out, std::size_t out_stride) {
  const hn::CappedTag<double, 2> d;
  const auto a = load(d, 0), b = load(d, 1);
  hn::StoreU(hn::InterleaveLower(d, a, b), d, out);
  hn::StoreU(hn::InterleaveUpper(d, a, b), d, out + out_stride);
}

// load(d, at) gives a vector of the rows' elements from `at` on; rows are `stride` apart.
template <typename T, class Load>
HWY_INLINE void TransposeEach(std::size_t stride, std::size_t rows, std::size_t columns,
                              const Load& load, T* HWY_RESTRICT out, std::size_t out_stride) {
  constexpr std::size_t kSide = 16 / sizeof(T);
  const hn::CappedTag<T, 1> one;
  std::size_t i = 0;
  for (; i + kSide <= rows; i += kSide) {
    std::size_t j = 0;
    for (; j + kSide <= columns; j += kSide) {
      TransposeSquare([&](auto d, std::size_t row)
                          HWY_ATTR { return load(d, (i + row) * stride + j); },
                      out + j * out_stride + i, out_stride);
    }
    for (; j < columns; ++j) {
      for (std::size_t k = i; k < i + kSide; ++k) {
        out[j * out_stride + k] = hn::GetLane(load(one, k * stride + j));
      }
    }
  }
  for (; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      out[j * out_stride + i] = hn::GetLane(load(one, i * stride + j));
    }
  }
}

template <typename T>
void Transpose(const T* HWY_RESTRICT in, std::size_t in_stride, std::size_t rows,
               std::size_t columns, T* HWY_RESTRICT out, std::size_t out_stride) {
  const auto load = [&](auto d, std::size_t at) HWY_ATTR { return hn::LoadU(d, in + at); };
  TransposeEach(in_stride, rows, columns, load, out, out_stride);
}

template <typename T>
void TransposeProduct(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, const T* HWY_RESTRICT c,
                      std::size_t in_stride, std::size_t rows, std::size_t columns,
                      T* HWY_RESTRICT out, std::size_t out_stride) {
  const auto load = [&](auto d, std::size_t at) HWY_ATTR {
    return hn::Mul(hn::Mul(hn::LoadU(d, a + at), hn::LoadU(d, b + at)), hn::LoadU(d, c + at));
  };
  TransposeEach(in_stride, rows, columns, load, out, out_stride);
}

BM_ENTRIES(Transpose);
BM_ENTRIES(TransposeProduct);

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

BM_EXPORT(Transpose);
template <typename T>
void transpose(const T* in, std::size_t in_stride, std::size_t rows, std::size_t columns, T* out,
               std::size_t out_stride) {
  BM_BEST(Transpose, T)(in, in_stride, rows, columns, out, out_stride);
}
BM_INSTANTIATE(transpose);

BM_EXPORT(TransposeProduct);
template <typename T>
void transpose_product(const T* a, const T* b, const T* c, std::size_t in_stride, std::size_t rows,
                       std::size_t columns, T* out, std::size_t out_stride) {
  BM_BEST(TransposeProduct, T)(a, b, c, in_stride, rows, columns, out, out_stride);
}
BM_INSTANTIATE(transpose_product);

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
