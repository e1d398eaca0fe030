#include "bridgemark/core/context.h"

#include <omp.h>

#include "bridgemark/core/error.h"

namespace bridgemark {

std::string_view device_name(Device device) { return device == Device::kCpu ? "cpu" : "cuda"; }

Device parse_device(std::string_view name) {
  if (name == "cpu") return Device::kCpu;
  if (name == "cuda") return Device::kCuda;
  throw_invalid("context", "device must be cpu or cuda, got '{}'", name);
}

int Context::threads() const { return num_threads > 0 ? num_threads : omp_get_max_threads(); }

}  // namespace bridgemark
