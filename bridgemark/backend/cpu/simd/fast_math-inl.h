// exp and log of the training kernels, for one Highway target: included once for each, inside no
// namespace. float has its own versions, some four times faster than Highway's because they leave
// out what training never meets (infinities, subnormal numbers, NaN); double, which only checks,
// has Highway's.

#if defined(BRIDGEMARK_FAST_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BRIDGEMARK_FAST_MATH_INL_H_
#undef BRIDGEMARK_FAST_MATH_INL_H_
#else
#define BRIDGEMARK_FAST_MATH_INL_H_
#endif

#include <cstddef>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// exp(x) for x of at most 88, to 2 units in the last place; what lies below -87 is moved there.
// x = n log 2 + r with |r| <= log(2) / 2, and a polynomial of degree 6 for exp(r).
template <class D>
HWY_INLINE hn::Vec<D> FastExp(D d, hn::Vec<D> x) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::Exp(d, x);
  } else {
    const hn::RebindToSigned<D> di;
    x = hn::Max(x, hn::Set(d, -87.0f));
    // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
    const auto magic = hn::Set(d, 12582912.0f);
    const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
    const auto n = hn::Sub(shifted, magic);
    auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);  // log 2 in two parts
    r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
    // 1 + r + r^2 p(r): the series, its last coefficients fitted to the interval. Summed in pairs:
    // the chain of operations, not their number, is what takes time.
    const auto r2 = hn::Mul(r, r);
    const auto p0 = hn::MulAdd(hn::Set(d, 1.6666665459e-1f), r, hn::Set(d, 5.0000001201e-1f));
    const auto p1 = hn::MulAdd(hn::Set(d, 8.3334519073e-3f), r, hn::Set(d, 4.1665795894e-2f));
    const auto p2 = hn::MulAdd(hn::Set(d, 1.9875691500e-4f), r, hn::Set(d, 1.3981999507e-3f));
    auto p = hn::MulAdd(hn::MulAdd(p2, r2, p1), r2, p0);
    p = hn::MulAdd(r2, p, hn::Add(r, hn::Set(d, 1.0f)));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
  }
}

// Below this an exponential is taken as 0: it lies near the smallest normal number of T.
template <typename T>
constexpr T kLowestExponent = sizeof(T) == 4 ? T(-87) : T(-700);

// exp(x) for x of at most 88.
template <class D>
HWY_INLINE hn::Vec<D> ExpOrZero(D d, hn::Vec<D> x) {
  const auto in_range = hn::Ge(x, hn::Set(d, kLowestExponent<hn::TFromD<D>>));
  return hn::IfThenElseZero(in_range, FastExp(d, x));
}

// log(x) for positive normal x, to 2 units in the last place; finite for 0 as well.
// x = 2^e m with m in [sqrt(1/2), sqrt(2)), and a polynomial of degree 10 for log(m).
template <class D>
HWY_INLINE hn::Vec<D> FastLog(D d, hn::Vec<D> x) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::Log(d, x);
  } else {
    const hn::RebindToSigned<D> di;
    const auto bits = hn::BitCast(di, x);
    const auto exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
    const auto f =
        hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent))), hn::Set(d, 1.0f));
    const auto e = hn::ConvertTo(d, exponent);
    // log(1 + f) = f - f^2 / 2 + f^3 p(f), p in pairs as above.
    const auto f2 = hn::Mul(f, f), f4 = hn::Mul(f2, f2);
    const auto p0 = hn::MulAdd(hn::Set(d, -2.4999993993e-1f), f, hn::Set(d, 3.3333331174e-1f));
    const auto p1 = hn::MulAdd(hn::Set(d, -1.6668057665e-1f), f, hn::Set(d, 2.0000714765e-1f));
    const auto p2 = hn::MulAdd(hn::Set(d, -1.2420140846e-1f), f, hn::Set(d, 1.4249322787e-1f));
    const auto p3 = hn::MulAdd(hn::Set(d, -1.1514610310e-1f), f, hn::Set(d, 1.1676998740e-1f));
    const auto low = hn::MulAdd(p1, f2, p0);
    const auto high = hn::MulAdd(hn::MulAdd(hn::Set(d, 7.0376836292e-2f), f2, p3), f2, p2);
    const auto p = hn::MulAdd(high, f4, low);
    auto y = hn::Mul(hn::Mul(f, f2), p);
    y = hn::MulAdd(e, hn::Set(d, -2.12194440e-4f), y);
    y = hn::NegMulAdd(hn::Set(d, 0.5f), f2, y);
    return hn::MulAdd(e, hn::Set(d, 0.693359375f), hn::Add(f, y));
  }
}

// store(i, f(load(i))) for each whole vector of [0, count), four at a time so that their chains of
// operations overlap; returns where the rest begins.
template <class D, class Load, class F, class Store>
HWY_INLINE std::size_t ForEachVector(D d, std::size_t count, const Load& load, const F& f,
                                     const Store& store) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto a = f(load(i)), b = f(load(i + lanes)), c = f(load(i + 2 * lanes)),
               e = f(load(i + 3 * lanes));
    store(i, a);
    store(i + lanes, b);
    store(i + 2 * lanes, c);
    store(i + 3 * lanes, e);
  }
  for (; i + lanes <= count; i += lanes) store(i, f(load(i)));
  return i;
}

// 1 / x to a unit or two in the last place: divisions would take most of a loop's time.
template <class D, class V>
HWY_INLINE V Reciprocal(D d, V x) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const V two = hn::Set(d, 2.0f);
    V y = hn::ApproximateReciprocal(x);
    y = hn::Mul(y, hn::NegMulAdd(x, y, two));
    return hn::Mul(y, hn::NegMulAdd(x, y, two));
  } else {
    return hn::Div(hn::Set(d, 1.0), x);
  }
}

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BRIDGEMARK_FAST_MATH_INL_H_
