// A loop over an array, for one Highway target: included once for each, inside no namespace.

#if defined(BRIDGEMARK_FOR_EACH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BRIDGEMARK_FOR_EACH_INL_H_
#undef BRIDGEMARK_FOR_EACH_INL_H_
#else
#define BRIDGEMARK_FOR_EACH_INL_H_
#endif

#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls body(d, i) for whole vectors of [0, count), then with a tag of one lane for the rest.
template <typename T, class Body>
HWY_INLINE void ForEach(std::size_t count, const Body& body) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) body(d, i);
  const hn::CappedTag<T, 1> one;
  for (; i < count; ++i) body(one, i);
}

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BRIDGEMARK_FOR_EACH_INL_H_
