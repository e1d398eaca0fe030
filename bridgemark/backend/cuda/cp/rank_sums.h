#pragma once

#include <cuda_runtime_api.h>

#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/runtime/device_ranks.h"

namespace bridgemark::backend::cuda {

// Sums of exponentials whose terms lie on several ranks: a rank writes the largest of its own
// exponents to `own_high` and to `high`, and the sum of exp(exponent - own_high) to `sum`; after
// the exchange `high` and `sum` are those of all ranks.
struct RankSums {
  int count = 0;
  double *own_high = nullptr, *high = nullptr, *sum = nullptr;
};

RankSums allocate_rank_sums(Memory& memory, int count);

// Two numbers for each sum. `ranks` may be null: then there is one rank.
void launch_exchange(const RankSums& sums, DeviceRanks* ranks, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
