#include "bridgemark/backend/cpu/simd/transpose.h"

// Squares of 16 bytes a side: longer vectors would gain nothing.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/simd/transpose.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/highway.h>

#include "bridgemark/backend/cpu/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR  // x86's lowest target: one lane, so a square of one element

template <typename T>
HWY_INLINE void TransposeSquare(const T* in, std::size_t, T* out, std::size_t) {
  *out = *in;
}

#else

HWY_INLINE void TransposeSquare(const float* in, std::size_t in_stride, float* out,
                                std::size_t out_stride) {
  const hn::CappedTag<float, 4> d;
  const hn::CappedTag<double, 2> pairs;
  const auto a = hn::LoadU(d, in), b = hn::LoadU(d, in + in_stride),
             c = hn::LoadU(d, in + 2 * in_stride), e = hn::LoadU(d, in + 3 * in_stride);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)),
             ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b)),
             ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e)),
             ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, out + out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, out + 2 * out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, out + 3 * out_stride);
}

HWY_INLINE void TransposeSquare(const double* in, std::size_t in_stride, double* out,
                                std::size_t out_stride) {
  const hn::CappedTag<double, 2> d;
  const auto a = hn::LoadU(d, in), b = hn::LoadU(d, in + in_stride);
  hn::StoreU(hn::InterleaveLower(d, a, b), d, out);
  hn::StoreU(hn::InterleaveUpper(d, a, b), d, out + out_stride);
}

#endif

template <typename T>
void Transpose(const T* HWY_RESTRICT in, std::size_t in_stride, std::size_t rows,
               std::size_t columns, T* HWY_RESTRICT out, std::size_t out_stride) {
  constexpr std::size_t kSide = HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T);
  std::size_t i = 0;
  for (; i + kSide <= rows; i += kSide) {
    std::size_t j = 0;
    for (; j + kSide <= columns; j += kSide) {
      TransposeSquare(in + i * in_stride + j, in_stride, out + j * out_stride + i, out_stride);
    }
    for (; j < columns; ++j) {
      for (std::size_t k = i; k < i + kSide; ++k) out[j * out_stride + k] = in[k * in_stride + j];
    }
  }
  for (; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) out[j * out_stride + i] = in[i * in_stride + j];
  }
}

BM_ENTRIES(Transpose);

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

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
