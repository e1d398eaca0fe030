#include "bridgemark/backend/cuda/runtime/device_ranks.h"
#include "bridgemark/core/error.h"

namespace bridgemark::backend::cuda {

std::unique_ptr<DeviceRanks> join_device_ranks(RankGroup& ranks) {
  throw DeviceError(fmt::format(
      "[ranks] ranks must be 1 on a GPU in this build, got {}; configure where nccl.h is "
      "for a build that has NCCL",
      ranks.count()));
}

}  // namespace bridgemark::backend::cuda
