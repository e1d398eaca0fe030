#include "bridgemark/backend/cpu/simd/training_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/simd/training_math.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "bridgemark/backend/cpu/simd/dispatch.h"
#include "bridgemark/backend/cpu/simd/fast_math-inl.h"
#include "bridgemark/backend/cpu/simd/for_each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
HWY_INLINE T scalar_exp_or_zero(T x) {
  return x >= kLowestExponent<T> ? std::exp(x) : T(0);
}

template <typename T>
void MaxInto(const T* HWY_RESTRICT in, std::size_t count, T* HWY_RESTRICT out) {
  ForEach<T>(count, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Max(hn::LoadU(d, out + i), hn::LoadU(d, in + i)), d, out + i);
  });
}

template <typename T>
void AddInto(const T* HWY_RESTRICT in, std::size_t count, T* HWY_RESTRICT out) {
  ForEach<T>(count, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), hn::LoadU(d, in + i)), d, out + i);
  });
}

template <typename T>
void AddScaledInto(const T* HWY_RESTRICT in, T scale, std::size_t count, T* HWY_RESTRICT out) {
  ForEach<T>(count, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::LoadU(d, in + i), hn::Set(d, scale), hn::LoadU(d, out + i)), d,
               out + i);
  });
}

// out = exp(in - shift); returns the lowest.
template <typename T>
T ExpDifference(const T* HWY_RESTRICT in, const T* HWY_RESTRICT shift, std::size_t count,
                T* HWY_RESTRICT out) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V lows = hn::Set(d, T(1));
  std::size_t i = ForEachVector(
      d, count,
      [&](std::size_t at)
          HWY_ATTR { return hn::Sub(hn::LoadU(d, in + at), hn::LoadU(d, shift + at)); },
      [&](V x) HWY_ATTR { return ExpOrZero(d, x); },
      [&](std::size_t at, V y) HWY_ATTR {
        lows = hn::Min(lows, y);
        hn::StoreU(y, d, out + at);
      });
  T low = hn::GetLane(hn::MinOfLanes(d, lows));
  for (; i < count; ++i) low = std::min(low, out[i] = scalar_exp_or_zero<T>(in[i] - shift[i]));
  return low;
}

// A piece of a row is far in memory from that of the next row: all are asked for ahead.
template <typename T>
T ExpColumns(const T* HWY_RESTRICT in, std::size_t in_stride, std::size_t rows, std::size_t columns,
             T* HWY_RESTRICT high, T* HWY_RESTRICT out, std::size_t out_stride) {
  constexpr std::size_t kLine = 64 / sizeof(T);
  for (std::size_t t = 0; t < rows; ++t) {
    for (std::size_t k = 0; k < columns; k += kLine) hwy::Prefetch(in + t * in_stride + k);
  }
  std::copy_n(in, columns, high);
  for (std::size_t t = 1; t < rows; ++t) MaxInto(in + t * in_stride, columns, high);
  T low = T(1);
  for (std::size_t t = 0; t < rows; ++t) {
    low = std::min(low, ExpDifference(in + t * in_stride, high, columns, out + t * out_stride));
  }
  return low;
}

template <typename T>
T ExpShifted(const T* in, T shift, std::size_t count, T* out) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const V shifts = hn::Set(d, shift);
  V sums = hn::Zero(d);
  std::size_t i = ForEachVector(
      d, count, [&](std::size_t at) HWY_ATTR { return hn::Sub(hn::LoadU(d, in + at), shifts); },
      [&](V x) HWY_ATTR { return ExpOrZero(d, x); },
      [&](std::size_t at, V y) HWY_ATTR {
        sums = hn::Add(sums, y);
        hn::StoreU(y, d, out + at);
      });
  T sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < count; ++i) sum += out[i] = scalar_exp_or_zero<T>(in[i] - shift);
  return sum;
}

template <typename T>
T LogSumWith(const T* in, const T* HWY_RESTRICT shift, std::size_t count, T* out) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V lows = hn::Set(d, std::numeric_limits<T>::infinity());
  std::size_t i = ForEachVector(
      d, count,
      [&](std::size_t at) HWY_ATTR {
        const V x = hn::LoadU(d, in + at);
        lows = hn::Min(lows, x);
        return x;
      },
      [&](V x) HWY_ATTR { return FastLog(d, x); },
      [&](std::size_t at, V y)
          HWY_ATTR { hn::StoreU(shift ? hn::Add(y, hn::LoadU(d, shift + at)) : y, d, out + at); });
  T low = hn::GetLane(hn::MinOfLanes(d, lows));
  for (; i < count; ++i) {
    low = std::min(low, in[i]);
    out[i] = std::log(in[i]) + (shift ? shift[i] : T(0));
  }
  return low;
}

template <typename T>
T MaxOf(const T* HWY_RESTRICT in, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  auto highs = hn::Set(d, -std::numeric_limits<T>::infinity());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) highs = hn::Max(highs, hn::LoadU(d, in + i));
  T high = hn::GetLane(hn::MaxOfLanes(d, highs));
  for (; i < count; ++i) high = std::max(high, in[i]);
  return high;
}

template <typename T>
void DivideInto(const T* HWY_RESTRICT in, std::size_t count, T* HWY_RESTRICT out) {
  ForEach<T>(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto x = hn::LoadU(d, out + i);
    hn::StoreU(hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Div(hn::LoadU(d, in + i), x)), d,
               out + i);
  });
}

template <typename T>
void MultiplyInto(const T* HWY_RESTRICT in, std::size_t count, T* HWY_RESTRICT out) {
  ForEach<T>(count, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, out + i), hn::LoadU(d, in + i)), d, out + i);
  });
}

// The step by value: a reference would have to be read again after each store.
void AdamWRow(AdamWStep step, const float* HWY_RESTRICT gradient, std::size_t count,
              float* HWY_RESTRICT parameters, float* HWY_RESTRICT first,
              float* HWY_RESTRICT second) {
  ForEach<float>(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto g = hn::LoadU(d, gradient + i);
    const auto m = hn::MulAdd(hn::Set(d, 1.0f - step.beta1), hn::Sub(g, hn::LoadU(d, first + i)),
                              hn::LoadU(d, first + i));
    const auto v =
        hn::MulAdd(hn::Set(d, 1.0f - step.beta2), hn::Sub(hn::Mul(g, g), hn::LoadU(d, second + i)),
                   hn::LoadU(d, second + i));
    hn::StoreU(m, d, first + i);
    hn::StoreU(v, d, second + i);
    const auto root =
        hn::Add(hn::Sqrt(hn::Mul(v, hn::Set(d, step.correction2))), hn::Set(d, step.epsilon));
    const auto move = hn::Div(hn::Mul(m, hn::Set(d, step.rate)), root);
    const auto p = hn::Mul(hn::LoadU(d, parameters + i), hn::Set(d, step.decay));
    hn::StoreU(hn::Sub(p, move), d, parameters + i);
  });
}

BM_ENTRIES(AddInto);
BM_ENTRIES(AddScaledInto);
BM_ENTRIES(ExpColumns);
BM_ENTRIES(ExpShifted);
BM_ENTRIES(LogSumWith);
BM_ENTRIES(MaxOf);
BM_ENTRIES(DivideInto);
BM_ENTRIES(MultiplyInto);

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

BM_EXPORT(AddInto);
template <typename T>
void add_into(const T* in, std::size_t count, T* out) {
  BM_BEST(AddInto, T)(in, count, out);
}
BM_INSTANTIATE(add_into);

BM_EXPORT(AddScaledInto);
template <typename T>
void add_scaled_into(const T* in, T scale, std::size_t count, T* out) {
  BM_BEST(AddScaledInto, T)(in, scale, count, out);
}
BM_INSTANTIATE(add_scaled_into);

BM_EXPORT(ExpColumns);
template <typename T>
T exp_columns(const T* in, std::size_t in_stride, std::size_t rows, std::size_t columns, T* high,
              T* out, std::size_t out_stride) {
  return BM_BEST(ExpColumns, T)(in, in_stride, rows, columns, high, out, out_stride);
}
BM_INSTANTIATE(exp_columns);

BM_EXPORT(ExpShifted);
template <typename T>
T exp_shifted(const T* in, T shift, std::size_t count, T* out) {
  return BM_BEST(ExpShifted, T)(in, shift, count, out);
}
BM_INSTANTIATE(exp_shifted);

BM_EXPORT(LogSumWith);
template <typename T>
T log_sum_with(const T* in, const T* shift, std::size_t count, T* out) {
  return BM_BEST(LogSumWith, T)(in, shift, count, out);
}
BM_INSTANTIATE(log_sum_with);

BM_EXPORT(MaxOf);
template <typename T>
T max_of(const T* in, std::size_t count) {
  return BM_BEST(MaxOf, T)(in, count);
}
BM_INSTANTIATE(max_of);

BM_EXPORT(DivideInto);
template <typename T>
void divide_into(const T* in, std::size_t count, T* out) {
  BM_BEST(DivideInto, T)(in, count, out);
}
BM_INSTANTIATE(divide_into);

BM_EXPORT(MultiplyInto);
template <typename T>
void multiply_into(const T* in, std::size_t count, T* out) {
  BM_BEST(MultiplyInto, T)(in, count, out);
}
BM_INSTANTIATE(multiply_into);

template <typename T>
T log_each(const T* in, std::size_t count, T* out) {
  return BM_BEST(LogSumWith, T)(in, nullptr, count, out);
}
BM_INSTANTIATE(log_each);

HWY_EXPORT(AdamWRow);

void adamw_row(AdamWStep step, const float* gradient, std::size_t count, float* parameters,
               float* first, float* second) {
  HWY_DYNAMIC_DISPATCH(AdamWRow)(step, gradient, count, parameters, first, second);
}

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
