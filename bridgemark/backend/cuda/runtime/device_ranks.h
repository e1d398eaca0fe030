#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "bridgemark/core/rank_group.h"

namespace bridgemark::backend::cuda {

// The GPUs of all ranks, one each: operations over them in the order of a stream, which may be
// captured in a graph. All ranks ask for the same ones in the same order.
class DeviceRanks {
 public:
  virtual ~DeviceRanks() = default;
  virtual void all_max(double* values, std::size_t count, cudaStream_t stream) = 0;
  virtual void all_sum(double* values, std::size_t count, cudaStream_t stream) = 0;
};

// Makes this process's GPU that of its rank on the machine; one that is shown to it alone stays.
// Throws DeviceError where a machine has fewer GPUs than ranks.
void choose_device_of_rank(const RankGroup& ranks);

// Joins the GPUs in use. Defined in ranks/nccl_ranks.cc, or in ranks/no_nccl_ranks.cc where
// the build has no NCCL: there it throws DeviceError.
std::unique_ptr<DeviceRanks> join_device_ranks(RankGroup& ranks);

}  // namespace bridgemark::backend::cuda
