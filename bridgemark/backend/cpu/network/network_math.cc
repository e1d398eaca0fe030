#include "bridgemark/backend/cpu/network/network_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/network/network_math.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/highway.h>

#include "bridgemark/backend/cpu/simd/dispatch.h"
#include "bridgemark/backend/cpu/simd/fast_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Four vectors of sums at a time stay in registers while the rows pass by.
template <typename T>
void MixRows(const T* HWY_RESTRICT weights, const T* HWY_RESTRICT rows, std::size_t count,
             std::size_t width, T* HWY_RESTRICT out) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t j = 0;
  for (; j + 4 * lanes <= width; j += 4 * lanes) {
    auto sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    const T* HWY_RESTRICT row = rows + j;
    for (std::size_t i = 0; i < count; ++i, row += width) {
      const auto weight = hn::Set(d, weights[i]);
      sum0 = hn::MulAdd(weight, hn::LoadU(d, row), sum0);
      sum1 = hn::MulAdd(weight, hn::LoadU(d, row + lanes), sum1);
      sum2 = hn::MulAdd(weight, hn::LoadU(d, row + 2 * lanes), sum2);
      sum3 = hn::MulAdd(weight, hn::LoadU(d, row + 3 * lanes), sum3);
    }
    hn::StoreU(sum0, d, out + j);
    hn::StoreU(sum1, d, out + j + lanes);
    hn::StoreU(sum2, d, out + j + 2 * lanes);
    hn::StoreU(sum3, d, out + j + 3 * lanes);
  }
  for (; j + lanes <= width; j += lanes) {
    auto even = hn::Zero(d), odd = even;
    std::size_t i = 0;
    for (; i + 2 <= count; i += 2) {
      even = hn::MulAdd(hn::Set(d, weights[i]), hn::LoadU(d, rows + i * width + j), even);
      odd = hn::MulAdd(hn::Set(d, weights[i + 1]), hn::LoadU(d, rows + (i + 1) * width + j), odd);
    }
    if (i < count) {
      even = hn::MulAdd(hn::Set(d, weights[i]), hn::LoadU(d, rows + i * width + j), even);
    }
    hn::StoreU(hn::Add(even, odd), d, out + j);
  }
  for (; j < width; ++j) {
    T sum = T(0);
    for (std::size_t i = 0; i < count; ++i) sum += weights[i] * rows[i * width + j];
    out[j] = sum;
  }
}

template <typename T>
void DotRows(const T* HWY_RESTRICT rows, const T* HWY_RESTRICT v, std::size_t count,
             std::size_t width, T* HWY_RESTRICT out) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; ++i) {
    const T* HWY_RESTRICT row = rows + i * width;
    auto even = hn::Zero(d), odd = even;
    std::size_t j = 0;
    for (; j + 2 * lanes <= width; j += 2 * lanes) {
      even = hn::MulAdd(hn::LoadU(d, row + j), hn::LoadU(d, v + j), even);
      odd = hn::MulAdd(hn::LoadU(d, row + j + lanes), hn::LoadU(d, v + j + lanes), odd);
    }
    for (; j + lanes <= width; j += lanes) {
      even = hn::MulAdd(hn::LoadU(d, row + j), hn::LoadU(d, v + j), even);
    }
    T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
    for (; j < width; ++j) sum += row[j] * v[j];
    out[i] = sum;
  }
}

// First the vector in which the running sum passes the threshold, then the lane.
std::size_t FindCategory(const float* HWY_RESTRICT weights, std::size_t count, float threshold) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  float sum = 0.0f;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const float next = sum + hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, weights + i)));
    if (next > threshold) break;
    sum = next;
  }
  for (std::size_t j = i; j < count; ++j) {
    sum += weights[j];
    if (sum > threshold && weights[j] > 0.0f) return j;
  }
  // Rounding kept the sum below: the last category that can be drawn.
  for (std::size_t j = count; j-- > 0;) {
    if (weights[j] > 0.0f) return j;
  }
  return 0;
}

std::size_t DrawWeighted(const float* HWY_RESTRICT weights, std::size_t count, double uniform) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto sums = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) sums = hn::Add(sums, hn::LoadU(d, weights + i));
  float total = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < count; ++i) total += weights[i];
  return FindCategory(weights, count, static_cast<float>(uniform * static_cast<double>(total)));
}

std::size_t DrawSoftmax(const float* HWY_RESTRICT logits, const float* HWY_RESTRICT log_weights,
                        std::size_t count, double uniform, float* HWY_RESTRICT scratch) {
  constexpr float kLowest = -87.0f;  // near the smallest normal exponential
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const float* values = logits;
  auto highs = hn::Set(d, -std::numeric_limits<float>::infinity());
  float high = -std::numeric_limits<float>::infinity();
  std::size_t i = 0;
  if (log_weights != nullptr) {
    for (; i + lanes <= count; i += lanes) {
      const auto value = hn::Add(hn::LoadU(d, logits + i), hn::LoadU(d, log_weights + i));
      hn::StoreU(value, d, scratch + i);
      highs = hn::Max(highs, value);
    }
    for (; i < count; ++i) high = std::max(high, scratch[i] = logits[i] + log_weights[i]);
    values = scratch;
  } else {
    for (; i + lanes <= count; i += lanes) highs = hn::Max(highs, hn::LoadU(d, logits + i));
    for (; i < count; ++i) high = std::max(high, logits[i]);
  }
  high = std::max(high, hn::GetLane(hn::MaxOfLanes(d, highs)));
  const auto shift = hn::Set(d, high);
  auto sums = hn::Zero(d);
  for (i = 0; i + lanes <= count; i += lanes) {
    const auto x = hn::Sub(hn::LoadU(d, values + i), shift);
    const auto e = hn::IfThenElseZero(hn::Ge(x, hn::Set(d, kLowest)), FastExp(d, x));
    hn::StoreU(e, d, scratch + i);
    sums = hn::Add(sums, e);
  }
  float total = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < count; ++i) {
    const float x = values[i] - high;
    total += scratch[i] = x >= kLowest ? std::exp(x) : 0.0f;
  }
  return FindCategory(scratch, count, static_cast<float>(uniform * static_cast<double>(total)));
}

SoftmaxSums SoftmaxSumsOf(const float* HWY_RESTRICT logits, const float* HWY_RESTRICT first,
                          const float* HWY_RESTRICT second, std::size_t count) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto highs = hn::Set(d, -std::numeric_limits<float>::infinity());
  float high = -std::numeric_limits<float>::infinity();
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) highs = hn::Max(highs, hn::LoadU(d, logits + i));
  for (; i < count; ++i) high = std::max(high, logits[i]);
  high = std::max(high, hn::GetLane(hn::MaxOfLanes(d, highs)));
  const auto shift = hn::Set(d, high);
  auto sum0 = hn::Zero(d), sum1 = sum0;
  for (i = 0; i + lanes <= count; i += lanes) {
    const auto e = ExpOrZero(d, hn::Sub(hn::LoadU(d, logits + i), shift));
    sum0 = hn::MulAdd(e, hn::LoadU(d, first + i), sum0);
    sum1 = hn::MulAdd(e, hn::LoadU(d, second + i), sum1);
  }
  SoftmaxSums sums{high, hn::GetLane(hn::SumOfLanes(d, sum0)),
                   hn::GetLane(hn::SumOfLanes(d, sum1))};
  for (; i < count; ++i) {
    const float x = logits[i] - high, e = x >= kLowestExponent<float> ? std::exp(x) : 0.0f;
    sums.first += e * first[i];
    sums.second += e * second[i];
  }
  return sums;
}

BM_ENTRIES(MixRows);
BM_ENTRIES(DotRows);

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

BM_EXPORT(MixRows);
template <typename T>
void mix_rows(const T* weights, const T* rows, std::size_t count, std::size_t width, T* out) {
  BM_BEST(MixRows, T)(weights, rows, count, width, out);
}
BM_INSTANTIATE(mix_rows);

BM_EXPORT(DotRows);
template <typename T>
void dot_rows(const T* rows, const T* v, std::size_t count, std::size_t width, T* out) {
  BM_BEST(DotRows, T)(rows, v, count, width, out);
}
BM_INSTANTIATE(dot_rows);

HWY_EXPORT(SoftmaxSumsOf);
SoftmaxSums softmax_sums(const float* logits, const float* first, const float* second,
                         std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(SoftmaxSumsOf)(logits, first, second, count);
}

HWY_EXPORT(DrawWeighted);
HWY_EXPORT(DrawSoftmax);

std::size_t draw_weighted(const float* weights, std::size_t count, double uniform) {
  return HWY_DYNAMIC_DISPATCH(DrawWeighted)(weights, count, uniform);
}

std::size_t draw_softmax(const float* logits, const float* log_weights, std::size_t count,
                         double uniform, float* scratch) {
  return HWY_DYNAMIC_DISPATCH(DrawSoftmax)(logits, log_weights, count, uniform, scratch);
}

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
