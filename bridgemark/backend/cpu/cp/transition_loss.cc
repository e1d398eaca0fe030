#include "bridgemark/backend/cpu/cp/transition_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/cp/transition_loss.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/highway.h>

#include "bridgemark/backend/cpu/simd/dispatch.h"
#include "bridgemark/backend/cpu/simd/fast_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::CappedTag<T, 64 / sizeof(T)>;

template <typename T>
bool LogWeightsOf(const T* HWY_RESTRICT log_factor, T counts_from, std::size_t count, T floor,
                  T* HWY_RESTRICT y, T* HWY_RESTRICT out) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto limit = hn::Set(d, std::max(counts_from, kLogNothing<T> / 2));
  const auto one = hn::Set(d, T(1));
  auto sums = hn::Zero(d), lows = hn::Set(d, std::numeric_limits<T>::infinity());
  for (std::size_t s = 0; s < count; s += lanes) {
    const auto counts = hn::Ge(hn::LoadU(d, log_factor + s), limit);
    const auto values = hn::LoadU(d, y + s);
    sums = hn::Add(sums, hn::IfThenElseZero(counts, values));
    lows = hn::Min(lows, hn::IfThenElse(counts, values, lows));
    hn::StoreU(hn::IfThenElse(counts, values, one), d, y + s);
  }
  const T sum = hn::GetLane(hn::SumOfLanes(d, sums)), low = hn::GetLane(hn::MinOfLanes(d, lows));
  if (!(low >= floor * std::max(T(1), sum))) return false;
  const auto inverse = hn::Set(d, T(1) / sum);
  for (std::size_t s = 0; s < count; s += lanes) {
    const auto factor = hn::LoadU(d, log_factor + s);
    const auto log = FastLog(d, hn::Mul(hn::LoadU(d, y + s), inverse));
    hn::StoreU(
        hn::IfThenElse(hn::Ge(factor, limit), hn::Add(factor, log), hn::Set(d, kLogNothing<T>)), d,
        out + s);
  }
  return true;
}

template <bool kKl, typename T>
double LossOfKind(T scale, const T* HWY_RESTRICT log_target, std::size_t count,
                  T* HWY_RESTRICT log_weights, T* HWY_RESTRICT target, T* HWY_RESTRICT flow) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  auto highs = hn::LoadU(d, log_weights);
  for (std::size_t s = lanes; s < count; s += lanes) {
    highs = hn::Max(highs, hn::LoadU(d, log_weights + s));
  }
  const auto high = hn::MaxOfLanes(d, highs);
  auto sums = hn::Zero(d);
  for (std::size_t s = 0; s < count; s += lanes) {
    const auto weight = ExpOrZero(d, hn::Sub(hn::LoadU(d, log_weights + s), high));
    sums = hn::Add(sums, weight);
    hn::StoreU(weight, d, flow + s);
  }
  const T sum = hn::GetLane(hn::SumOfLanes(d, sums));
  const auto inverse = hn::Set(d, T(1) / sum);
  const auto log_sum = hn::Set(d, hn::GetLane(high) + std::log(sum));
  const auto scales = hn::Set(d, kKl ? scale : 2 * scale);
  auto losses = hn::Zero(d), inner = hn::Zero(d);
  for (std::size_t s = 0; s < count; s += lanes) {
    const auto model = hn::Mul(hn::LoadU(d, flow + s), inverse);
    const auto log_model = hn::Sub(hn::LoadU(d, log_weights + s), log_sum);
    const auto log_p = hn::LoadU(d, log_target + s), p = ExpOrZero(d, log_p);
    const auto difference = hn::Sub(model, p), gradient = hn::Mul(scales, difference);
    hn::StoreU(log_model, d, log_weights + s);
    hn::StoreU(p, d, target + s);
    hn::StoreU(gradient, d, flow + s);
    if constexpr (kKl) {
      const auto term = hn::Mul(p, hn::Sub(log_p, log_model));
      losses = hn::Add(losses, hn::IfThenElseZero(hn::Gt(p, hn::Zero(d)), term));
    } else {
      losses = hn::MulAdd(difference, difference, losses);
      inner = hn::MulAdd(gradient, model, inner);
    }
  }
  if constexpr (!kKl) {
    const auto mean = hn::SumOfLanes(d, inner);
    for (std::size_t s = 0; s < count; s += lanes) {
      const auto model = ExpOrZero(d, hn::LoadU(d, log_weights + s));
      hn::StoreU(hn::Mul(model, hn::Sub(hn::LoadU(d, flow + s), mean)), d, flow + s);
    }
  }
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, losses)));
}

template <typename T>
double TransitionLoss(MatchingLoss kind, T scale, const T* log_target, std::size_t count,
                      T* log_weights, T* target, T* flow) {
  return kind == MatchingLoss::kKl
             ? LossOfKind<true>(scale, log_target, count, log_weights, target, flow)
             : LossOfKind<false>(scale, log_target, count, log_weights, target, flow);
}

template <typename T>
void DivideRows(const T* HWY_RESTRICT left, const T* HWY_RESTRICT right, std::size_t count,
                T* HWY_RESTRICT out) {
  const Tag<T> d;
  for (std::size_t s = 0; s < count; s += hn::Lanes(d)) {
    hn::StoreU(hn::Div(hn::LoadU(d, left + s), hn::LoadU(d, right + s)), d, out + s);
  }
}

BM_ENTRIES(LogWeightsOf);
BM_ENTRIES(TransitionLoss);
BM_ENTRIES(DivideRows);

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

BM_EXPORT(LogWeightsOf);
template <typename T>
bool log_weights_of(const T* log_factor, T counts_from, std::size_t count, T floor, T* y, T* out) {
  return BM_BEST(LogWeightsOf, T)(log_factor, counts_from, count, floor, y, out);
}
BM_INSTANTIATE(log_weights_of);

BM_EXPORT(TransitionLoss);
template <typename T>
double transition_loss(MatchingLoss kind, T scale, const T* log_target, std::size_t count,
                       T* log_weights, T* target, T* flow) {
  return BM_BEST(TransitionLoss, T)(kind, scale, log_target, count, log_weights, target, flow);
}
BM_INSTANTIATE(transition_loss);

BM_EXPORT(DivideRows);
template <typename T>
void divide_rows(const T* left, const T* right, std::size_t count, T* out) {
  BM_BEST(DivideRows, T)(left, right, count, out);
}
BM_INSTANTIATE(divide_rows);

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
