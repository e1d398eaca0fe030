#include <cuda_runtime_api.h>

#include "bridgemark/backend/cuda/cp/cp_view.h"
#include "bridgemark/backend/cuda/cuda_backend.h"
#include "bridgemark/backend/cuda/runtime/check.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/resources.h"

namespace bridgemark::backend::cuda {

void throw_cuda_error(cudaError_t status, const char* call) {
  throw DeviceError(fmt::format("[device] {} failed: {}", call, cudaGetErrorString(status)));
}

void throw_out_of_memory(std::size_t bytes) {
  cudaGetLastError();  // so that the next call starts without it
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  throw DeviceError(fmt::format(
      "[device] out of GPU memory: {} MiB more are needed, {} of {} MiB are free; lower "
      "batch_size, components or the rows of one call, or take device cpu",
      (bytes >> 20) + 1, free >> 20, total >> 20));
}

void CudaBackend::require_device() const {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    throw DeviceError(
        fmt::format("[device] device must be cpu on this machine, got cuda: {}",
                    status == cudaSuccess ? "no device" : cudaGetErrorString(status)));
  }
}

std::string CudaBackend::machine() const {
  int device = 0;
  cudaDeviceProp properties{};
  BM_CUDA_CHECK(cudaGetDevice(&device));
  BM_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  return machine_description() + ", " + properties.name;
}

Facts CudaBackend::facts() const {
  require_device();
  int driver = 0, runtime = 0, count = 0;
  BM_CUDA_CHECK(cudaDriverGetVersion(&driver));
  BM_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  BM_CUDA_CHECK(cudaGetDeviceCount(&count));
  const auto version = [](int number) {  // 1000 major + 10 minor
    return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
  };
  Facts facts = {{"driver takes CUDA", version(driver)}, {"runtime is CUDA", version(runtime)}};
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    BM_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    facts.emplace_back(
        fmt::format("device {}", device),
        fmt::format("{}, compute capability {}.{}, {} multiprocessors, {:.1f} GiB", properties.name,
                    properties.major, properties.minor, properties.multiProcessorCount,
                    static_cast<double>(properties.totalGlobalMem) / (1024.0 * 1024.0 * 1024.0)));
  }
  return facts;
}

std::size_t CudaBackend::memory_in_use() const {
  std::size_t free = 0, total = 0;
  BM_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return total - free;
}

std::size_t max_shared_memory() {
  constexpr int kStatic = 8192;  // what kernels declare beside it
  int device = 0, limit = 0;
  BM_CUDA_CHECK(cudaGetDevice(&device));
  BM_CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return static_cast<std::size_t>(limit - kStatic);
}

void allow_shared_memory(const void* kernel, std::size_t bytes, int num_categories) {
  if (bytes > max_shared_memory()) {
    throw DeviceError(
        fmt::format("[device] {} categories need {} KiB of shared memory, this device has {}; take "
                    "device cpu",
                    num_categories, bytes >> 10, max_shared_memory() >> 10));
  }
  BM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(bytes)));
}

}  // namespace bridgemark::backend::cuda
