#include <fmt/format.h>

#include "bridgemark/backend/cuda/runtime/check.h"
#include "bridgemark/backend/cuda/runtime/device_ranks.h"
#include "bridgemark/core/error.h"

namespace bridgemark::backend::cuda {

void choose_device_of_rank(const RankGroup& ranks) {
  int devices = 0;
  BM_CUDA_CHECK(cudaGetDeviceCount(&devices));
  if (devices == 1) return;  // all there is, or what the launcher shows this rank
  if (ranks.count_on_machine() > devices) {
    throw DeviceError(fmt::format("[ranks] ranks on a machine must be at most its GPUs, {}, got {}",
                                  devices, ranks.count_on_machine()));
  }
  BM_CUDA_CHECK(cudaSetDevice(ranks.rank_on_machine()));
}

}  // namespace bridgemark::backend::cuda
