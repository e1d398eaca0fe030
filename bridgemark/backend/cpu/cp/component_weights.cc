#include "bridgemark/backend/cpu/cp/component_weights.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/cp/component_weights.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/highway.h>

#include "bridgemark/backend/cpu/simd/dispatch.h"
#include "bridgemark/backend/cpu/simd/fast_math-inl.h"
#include "bridgemark/backend/cpu/simd/for_each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Layout of a floating-point number.
template <typename T>
struct Bits {
  static constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52;
  static constexpr Exponent<T> kBias = sizeof(T) == 4 ? 127 : 1023;
  static constexpr Exponent<T> kOne = kBias << kMantissa;  // the number 1
  static constexpr Exponent<T> kMantissaMask = (Exponent<T>(1) << kMantissa) - 1;
};

// A vector of normal numbers as mantissas, whose exponents are added.
template <class D, class V, typename T = hn::TFromD<D>>
HWY_INLINE void StoreNormalised(D d, V weights, T* mantissas, Exponent<T>* exponents) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, weights);
  const auto mantissa =
      hn::Or(hn::And(bits, hn::Set(di, Bits<T>::kMantissaMask)), hn::Set(di, Bits<T>::kOne));
  hn::StoreU(hn::BitCast(d, mantissa), d, mantissas);
  const auto exponent =
      hn::Sub(hn::ShiftRight<Bits<T>::kMantissa>(bits), hn::Set(di, Bits<T>::kBias));
  hn::StoreU(hn::Add(exponent, hn::LoadU(di, exponents)), di, exponents);
}

template <typename T>
T MultiplyWeights(T floor, const T* HWY_RESTRICT factors, std::size_t count,
                  T* HWY_RESTRICT mantissas, Exponent<T>* HWY_RESTRICT exponents,
                  T* HWY_RESTRICT inverses) {
  T low = std::numeric_limits<T>::infinity();
  const hn::ScalableTag<T> full;
  auto lows = hn::Set(full, low);
  const auto step = [&](auto d, std::size_t i) HWY_ATTR {
    const auto one = hn::Set(d, T(1)), factor = hn::LoadU(d, factors + i);
    const auto in_range = hn::Ge(factor, hn::Set(d, floor));
    const auto safe = hn::IfThenElse(in_range, factor, one);
    hn::StoreU(hn::IfThenElseZero(in_range, hn::Div(one, safe)), d, inverses + i);
    StoreNormalised(d, hn::Mul(safe, hn::LoadU(d, mantissas + i)), mantissas + i, exponents + i);
    return factor;
  };
  const std::size_t lanes = hn::Lanes(full);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) lows = hn::Min(lows, step(full, i));
  low = hn::GetLane(hn::MinOfLanes(full, lows));
  const hn::CappedTag<T, 1> single;
  for (; i < count; ++i) low = std::min(low, hn::GetLane(step(single, i)));
  return low;
}

template <typename T>
void MultiplyMantissas(const T* HWY_RESTRICT factors, std::size_t count, T* HWY_RESTRICT mantissas,
                       T* HWY_RESTRICT inverses) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  // Every other vector is divided, which goes on beside the rest.
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto first = hn::LoadU(d, factors + i), second = hn::LoadU(d, factors + i + lanes);
    hn::StoreU(hn::Div(hn::Set(d, T(1)), first), d, inverses + i);
    hn::StoreU(Reciprocal(d, second), d, inverses + i + lanes);
    hn::StoreU(hn::Mul(first, hn::LoadU(d, mantissas + i)), d, mantissas + i);
    hn::StoreU(hn::Mul(second, hn::LoadU(d, mantissas + i + lanes)), d, mantissas + i + lanes);
  }
  for (; i < count; ++i) {
    mantissas[i] *= factors[i];
    inverses[i] = T(1) / factors[i];
  }
}

template <typename T>
void Normalise(std::size_t count, T* HWY_RESTRICT mantissas, Exponent<T>* HWY_RESTRICT exponents) {
  ForEach<T>(count, [&](auto d, std::size_t i) HWY_ATTR {
    StoreNormalised(d, hn::LoadU(d, mantissas + i), mantissas + i, exponents + i);
  });
}

template <typename T>
Exponent<T> MaxExponent(const Exponent<T>* HWY_RESTRICT exponents, std::size_t count) {
  const hn::ScalableTag<Exponent<T>> d;
  const std::size_t lanes = hn::Lanes(d);
  auto highs = hn::Set(d, exponents[0]);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) highs = hn::Max(highs, hn::LoadU(d, exponents + i));
  Exponent<T> high = hn::GetLane(hn::MaxOfLanes(d, highs));
  for (; i < count; ++i) high = std::max(high, exponents[i]);
  return high;
}

template <typename T>
void SplitWeights(const T* HWY_RESTRICT mantissas, const Exponent<T>* HWY_RESTRICT exponents,
                  Exponent<T> scale, std::size_t count, T* HWY_RESTRICT upper,
                  T* HWY_RESTRICT lower) {
  ForEach<T>(count, [&](auto d, std::size_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> di;
    const auto exponent = hn::Max(hn::Sub(hn::LoadU(di, exponents + i), hn::Set(di, scale)),
                                  hn::Set(di, 2 * (1 - Bits<T>::kBias)));
    const auto half = hn::ShiftRight<1>(exponent);
    const auto mantissa = hn::BitCast(di, hn::LoadU(d, mantissas + i));
    hn::StoreU(hn::BitCast(d, hn::Add(mantissa, hn::ShiftLeft<Bits<T>::kMantissa>(half))), d,
               upper + i);
    const auto rest = hn::Add(hn::Sub(exponent, half), hn::Set(di, Bits<T>::kBias));
    hn::StoreU(hn::BitCast(d, hn::ShiftLeft<Bits<T>::kMantissa>(rest)), d, lower + i);
  });
}

template <typename T>
void WeightsOfOthers(const T* HWY_RESTRICT upper, const T* HWY_RESTRICT lower,
                     const T* HWY_RESTRICT inverse, std::size_t columns,
                     std::span<const std::uint32_t> rows, T* HWY_RESTRICT out) {
  for (const std::uint32_t row : rows) {
    const std::size_t at = row * columns;
    ForEach<T>(columns, [&](auto d, std::size_t i) HWY_ATTR {
      const auto product = hn::Mul(hn::LoadU(d, upper + at + i), hn::LoadU(d, inverse + at + i));
      hn::StoreU(hn::Mul(product, hn::LoadU(d, lower + at + i)), d, out + i);
    });
    out += columns;
  }
}

template <typename T>
void PullThroughLog(const T* HWY_RESTRICT total, const T* HWY_RESTRICT inverse, std::size_t count,
                    T* HWY_RESTRICT own) {
  ForEach<T>(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto others = hn::Sub(hn::LoadU(d, total + i), hn::LoadU(d, own + i));
    hn::StoreU(hn::Mul(others, hn::LoadU(d, inverse + i)), d, own + i);
  });
}

BM_ENTRIES(MultiplyWeights);
BM_ENTRIES(MultiplyMantissas);
BM_ENTRIES(Normalise);
BM_ENTRIES(MaxExponent);
BM_ENTRIES(SplitWeights);
BM_ENTRIES(WeightsOfOthers);
BM_ENTRIES(PullThroughLog);

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

BM_EXPORT(MultiplyWeights);
template <typename T>
T multiply_weights(T floor, const T* factors, std::size_t count, T* mantissas,
                   Exponent<T>* exponents, T* inverses) {
  return BM_BEST(MultiplyWeights, T)(floor, factors, count, mantissas, exponents, inverses);
}
BM_INSTANTIATE(multiply_weights);

BM_EXPORT(MultiplyMantissas);
template <typename T>
void multiply_mantissas(const T* factors, std::size_t count, T* mantissas, T* inverses) {
  BM_BEST(MultiplyMantissas, T)(factors, count, mantissas, inverses);
}
BM_INSTANTIATE(multiply_mantissas);

BM_EXPORT(Normalise);
template <typename T>
void normalise_weights(std::size_t count, T* mantissas, Exponent<T>* exponents) {
  BM_BEST(Normalise, T)(count, mantissas, exponents);
}
BM_INSTANTIATE(normalise_weights);

BM_EXPORT(MaxExponent);
template <typename T>
Exponent<T> max_exponent(const Exponent<T>* exponents, std::size_t count) {
  return BM_BEST(MaxExponent, T)(exponents, count);
}
BM_INSTANTIATE(max_exponent);

BM_EXPORT(SplitWeights);
template <typename T>
void split_weights(const T* mantissas, const Exponent<T>* exponents, Exponent<T> scale,
                   std::size_t count, T* upper, T* lower) {
  BM_BEST(SplitWeights, T)(mantissas, exponents, scale, count, upper, lower);
}
BM_INSTANTIATE(split_weights);

BM_EXPORT(WeightsOfOthers);
template <typename T>
void weights_of_others(const T* upper, const T* lower, const T* inverse, std::size_t columns,
                       std::span<const std::uint32_t> rows, T* out) {
  BM_BEST(WeightsOfOthers, T)(upper, lower, inverse, columns, rows, out);
}
BM_INSTANTIATE(weights_of_others);

BM_EXPORT(PullThroughLog);
template <typename T>
void pull_through_log(const T* total, const T* inverse, std::size_t count, T* own) {
  BM_BEST(PullThroughLog, T)(total, inverse, count, own);
}
BM_INSTANTIATE(pull_through_log);

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
