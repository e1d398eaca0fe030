#include "bridgemark/backend/backend.h"

#include <fmt/format.h>

#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/core/error.h"

#ifdef BRIDGEMARK_HAVE_CUDA
#include "bridgemark/backend/cuda/cuda_backend.h"
#endif

namespace bridgemark::backend {

void Backend::refuse(std::string_view operation) const {
  const Device other = device_ == Device::kCpu ? Device::kCuda : Device::kCpu;
  throw DeviceError(fmt::format("[backend] device of {} must be {}, got {}", operation,
                                device_name(other), device_name(device_)));
}

namespace {

const Backend& cuda_backend() {
#ifdef BRIDGEMARK_HAVE_CUDA
  static const cuda::CudaBackend backend;
  return backend;
#else
  throw DeviceError(
      "[device] device must be cpu in this build, got cuda; in the sources, make wheel-cuda "
      "makes a wheel that has CUDA, and cmake --preset cuda a program");
#endif
}

}  // namespace

const Backend& of(const Context& context) {
  static const cpu::CpuBackend cpu;
  return context.device == Device::kCuda ? cuda_backend() : cpu;
}

}  // namespace bridgemark::backend
