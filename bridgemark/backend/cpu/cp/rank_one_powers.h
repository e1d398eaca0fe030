#pragma once

#include <algorithm>
#include <cstddef>

#include "bridgemark/backend/plan/cp_tensors.h"

// The powers of a chain that are Q_n = identity I + uniform 11^T; n = 0 is one for any chain.
namespace bridgemark::backend::cpu {

template <typename T>
bool is_rank_one(const ChainTables<T>& chain) {
  return chain.identity >= T(0);
}

template <typename T>
T uniform_part(const ChainTables<T>& chain, int n) {
  return chain.num_categories > 1 ? chain.linear_power(n)[1] : T(0);
}

template <typename T>
T identity_part(const ChainTables<T>& chain, int n) {
  return chain.linear_power(n)[0] - uniform_part(chain, n);
}

// out = Q_n in, for one vector over categories.
template <typename T>
void multiply_rank_one_power(const ChainTables<T>& chain, int n, const T* in, T* out) {
  const std::size_t S = chain.num_categories;
  if (n == 0) {
    std::copy_n(in, S, out);
    return;
  }
  T sum = T(0);
  for (std::size_t s = 0; s < S; ++s) sum += in[s];
  const T shared = uniform_part(chain, n) * sum, own = identity_part(chain, n);
  for (std::size_t s = 0; s < S; ++s) out[s] = shared + own * in[s];
}

}  // namespace bridgemark::backend::cpu
