#include "bridgemark/backend/cpu/rank_one_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/rank_one_product.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bridgemark::backend::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
void MultiplyRankOne(const RankOneRows<T>& rows, const T* HWY_RESTRICT x, std::size_t categories,
                     std::size_t columns, T* HWY_RESTRICT out) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  for (std::size_t k = 0; k < columns; k += hn::Lanes(d)) {
    auto sum = hn::Zero(d);
    for (std::size_t t = 0; t < categories; ++t) {
      sum = hn::Add(sum, hn::LoadU(d, x + t * columns + k));
    }
    for (std::size_t b = 0; b < rows.count; ++b) {
      const auto own = hn::LoadU(d, x + rows.states[b] * columns + k);
      const auto shared = hn::Mul(hn::Set(d, rows.uniform[b]), sum);
      hn::StoreU(hn::MulAdd(hn::Set(d, rows.identity[b]), own, shared), d, out + b * columns + k);
    }
  }
}

template <typename T>
void MultiplyRankOneBack(const RankOneRows<T>& rows, const T* HWY_RESTRICT x,
                         std::size_t categories, std::size_t columns, T* HWY_RESTRICT out) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  for (std::size_t k = 0; k < columns; k += hn::Lanes(d)) {
    auto shared = hn::Zero(d);
    for (std::size_t b = 0; b < rows.count; ++b) {
      const auto value = hn::LoadU(d, x + b * columns + k);
      shared = hn::MulAdd(hn::Set(d, rows.uniform[b]), value, shared);
      T* own = out + rows.states[b] * columns + k;
      hn::StoreU(hn::MulAdd(hn::Set(d, rows.identity[b]), value, hn::LoadU(d, own)), d, own);
    }
    for (std::size_t t = 0; t < categories; ++t) {
      T* row = out + t * columns + k;
      hn::StoreU(hn::Add(hn::LoadU(d, row), shared), d, row);
    }
  }
}

// One dispatch entry for each element type.
#define BM_ENTRIES(TYPE, SUFFIX)                                                             \
  void MultiplyRankOne##SUFFIX(const RankOneRows<TYPE>& rows, const TYPE* x,                 \
                               std::size_t categories, std::size_t columns, TYPE* out) {     \
    MultiplyRankOne(rows, x, categories, columns, out);                                      \
  }                                                                                          \
  void MultiplyRankOneBack##SUFFIX(const RankOneRows<TYPE>& rows, const TYPE* x,             \
                                   std::size_t categories, std::size_t columns, TYPE* out) { \
    MultiplyRankOneBack(rows, x, categories, columns, out);                                  \
  }

BM_ENTRIES(float, F)
BM_ENTRIES(double, D)
#undef BM_ENTRIES

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

// The public template of one element type calls the best target's entry.
#define BM_DISPATCH(TYPE, SUFFIX)                                                             \
  HWY_EXPORT(MultiplyRankOne##SUFFIX);                                                        \
  HWY_EXPORT(MultiplyRankOneBack##SUFFIX);                                                    \
  template <>                                                                                 \
  void multiply_rank_one<TYPE>(const RankOneRows<TYPE>& rows, const TYPE* x,                  \
                               std::size_t categories, std::size_t columns, TYPE* out) {      \
    HWY_DYNAMIC_DISPATCH(MultiplyRankOne##SUFFIX)(rows, x, categories, columns, out);         \
  }                                                                                           \
  template <>                                                                                 \
  void multiply_rank_one_back<TYPE>(const RankOneRows<TYPE>& rows, const TYPE* x,             \
                                    std::size_t categories, std::size_t columns, TYPE* out) { \
    HWY_DYNAMIC_DISPATCH(MultiplyRankOneBack##SUFFIX)(rows, x, categories, columns, out);     \
  }

BM_DISPATCH(float, F)
BM_DISPATCH(double, D)
#undef BM_DISPATCH

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
