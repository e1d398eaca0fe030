#pragma once

#include <cstddef>

// Products with rows of a reference that is identity I + uniform 11^T, each row of the batch with
// its own state and power. `columns` is a multiple of a vector of 64 bytes.
namespace bridgemark::backend::cpu {

// The source row of each row of the batch.
template <typename T>
struct RankOneRows {
  std::size_t count;
  const std::size_t* states;
  const T* identity;
  const T* uniform;
};

// out[b,:] = identity[b] x[state[b],:] + uniform[b] * sum_t x[t,:]; x is [categories, columns].
template <typename T>
void multiply_rank_one(const RankOneRows<T>& rows, const T* x, std::size_t categories,
                       std::size_t columns, T* out);

// out[t,:] += sum_b (identity[b] [t = state[b]] + uniform[b]) x[b,:]; out is [categories, columns].
template <typename T>
void multiply_rank_one_back(const RankOneRows<T>& rows, const T* x, std::size_t categories,
                            std::size_t columns, T* out);

}  // namespace bridgemark::backend::cpu
