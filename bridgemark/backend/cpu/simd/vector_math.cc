#include "bridgemark/backend/cpu/simd/vector_math.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/simd/vector_math.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "bridgemark/backend/cpu/simd/for_each-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<double>;

// exp(x), 0 below -700 and for NaN (which only arises as -inf minus -inf). Highway's exponential
// turns its argument into an integer. Instructions have an integer for NaN; vectors emulated in C++
// have none, so they are given no NaN.
template <class Tag, class V>
HWY_INLINE V exp_or_zero(Tag d, V x) {
  constexpr bool kEmulated = HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR;
  const auto in_range = hn::Ge(x, hn::Set(d, -700.0));
  if (kEmulated) x = hn::IfThenElseZero(in_range, x);
  return hn::IfThenElseZero(in_range, hn::Exp(d, x));
}

void ExpMinusEach(const double* HWY_RESTRICT in, const double* HWY_RESTRICT shift,
                  std::size_t count, double* HWY_RESTRICT out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(exp_or_zero(d, hn::Sub(hn::LoadU(d, in + i), hn::LoadU(d, shift + i))), d, out + i);
  }
  for (; i < count; ++i) {
    const double x = in[i] - shift[i];
    out[i] = x >= -700.0 ? std::exp(x) : 0.0;
  }
}

void ExpMinusOne(const double* HWY_RESTRICT in, double shift, std::size_t count,
                 double* HWY_RESTRICT out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto shifts = hn::Set(d, shift);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(exp_or_zero(d, hn::Sub(hn::LoadU(d, in + i), shifts)), d, out + i);
  }
  for (; i < count; ++i) {
    const double x = in[i] - shift;
    out[i] = x >= -700.0 ? std::exp(x) : 0.0;
  }
}

void LogPlus(const double* HWY_RESTRICT in, double shift_scalar, const double* HWY_RESTRICT shift,
             std::size_t count, double* HWY_RESTRICT out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto scalar = hn::Set(d, shift_scalar);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto logs = hn::Log(d, hn::LoadU(d, in + i));
    hn::StoreU(hn::Add(logs, hn::Add(scalar, hn::LoadU(d, shift + i))), d, out + i);
  }
  for (; i < count; ++i) out[i] = std::log(in[i]) + (shift_scalar + shift[i]);
}

double LogDot(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, std::size_t count) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const double minus_infinity = -std::numeric_limits<double>::infinity();
  auto highs = hn::Set(d, minus_infinity);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    highs = hn::Max(highs, hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
  }
  double high = hn::GetLane(hn::MaxOfLanes(d, highs));
  for (; i < count; ++i) high = std::fmax(high, a[i] + b[i]);
  if (high == minus_infinity) return high;

  const auto shifts = hn::Set(d, high);
  const auto floor = hn::Set(d, -45.0);  // exp(-45) is under 2^-64 of the largest term
  auto sums = hn::Zero(d);
  i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::Sub(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), shifts);
    if (hn::AllFalse(d, hn::Ge(x, floor))) continue;
    sums = hn::Add(sums, exp_or_zero(d, x));
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < count; ++i) sum += std::exp(a[i] + b[i] - high);
  return high + std::log(sum);
}

double LogKl(const double* HWY_RESTRICT log_p, const double* HWY_RESTRICT log_q,
             std::size_t count) {
  const double minus_infinity = -std::numeric_limits<double>::infinity();
  double total = 0.0;
  bool ruled_out = false;  // somewhere q = 0 < p
  ForEach<double>(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto p = hn::LoadU(d, log_p + i), q = hn::LoadU(d, log_q + i);
    const auto zero = hn::Set(d, minus_infinity);
    const auto possible = hn::Gt(p, zero);
    ruled_out = ruled_out || !hn::AllFalse(d, hn::And(possible, hn::Eq(q, zero)));
    const auto terms = hn::Mul(exp_or_zero(d, p), hn::Sub(p, q));
    total += hn::GetLane(hn::SumOfLanes(d, hn::IfThenElseZero(possible, terms)));
  });
  return ruled_out ? -minus_infinity : total;
}

double SumLogRatios(const double* HWY_RESTRICT weights, const double* HWY_RESTRICT p,
                    const double* HWY_RESTRICT q, std::size_t count) {
  double total = 0.0;
  ForEach<double>(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto ratio = hn::Div(hn::LoadU(d, p + i), hn::LoadU(d, q + i));
    const auto terms = hn::Mul(hn::LoadU(d, weights + i), hn::Log(d, ratio));
    total += hn::GetLane(hn::SumOfLanes(d, terms));
  });
  return total;
}

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

HWY_EXPORT(ExpMinusEach);
HWY_EXPORT(ExpMinusOne);
HWY_EXPORT(LogPlus);
HWY_EXPORT(LogDot);
HWY_EXPORT(LogKl);
HWY_EXPORT(SumLogRatios);

void exp_minus(const double* in, const double* shift, std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(ExpMinusEach)(in, shift, count, out);
}

void exp_minus(const double* in, double shift, std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(ExpMinusOne)(in, shift, count, out);
}

void log_plus(const double* in, double shift_scalar, const double* shift, std::size_t count,
              double* out) {
  HWY_DYNAMIC_DISPATCH(LogPlus)(in, shift_scalar, shift, count, out);
}

double log_dot(const double* a, const double* b, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(LogDot)(a, b, count);
}

double fast_log_kl(const double* log_p, const double* log_q, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(LogKl)(log_p, log_q, count);
}

double sum_log_ratios(const double* weights, const double* p, const double* q, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(SumLogRatios)(weights, p, q, count);
}

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
