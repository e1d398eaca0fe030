#include "bridgemark/backend/cpu/cp/rank_one_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bridgemark/backend/cpu/cp/rank_one_product.cc"
#include <hwy/foreach_target.h>
// highway.h must follow foreach_target.h
#include <hwy/highway.h>

#include "bridgemark/backend/cpu/simd/dispatch.h"

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

BM_ENTRIES(MultiplyRankOne);
BM_ENTRIES(MultiplyRankOneBack);

}  // namespace bridgemark::backend::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bridgemark::backend::cpu {

BM_EXPORT(MultiplyRankOne);
template <typename T>
void multiply_rank_one(const RankOneRows<T>& rows, const T* x, std::size_t categories,
                       std::size_t columns, T* out) {
  BM_BEST(MultiplyRankOne, T)(rows, x, categories, columns, out);
}
BM_INSTANTIATE(multiply_rank_one);

BM_EXPORT(MultiplyRankOneBack);
template <typename T>
void multiply_rank_one_back(const RankOneRows<T>& rows, const T* x, std::size_t categories,
                            std::size_t columns, T* out) {
  BM_BEST(MultiplyRankOneBack, T)(rows, x, categories, columns, out);
}
BM_INSTANTIATE(multiply_rank_one_back);

}  // namespace bridgemark::backend::cpu
#endif  // HWY_ONCE
