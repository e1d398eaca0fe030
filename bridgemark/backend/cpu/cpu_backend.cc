#include "bridgemark/backend/cpu/cpu_backend.h"

#include "bridgemark/core/resources.h"

namespace bridgemark::backend::cpu {

std::string CpuBackend::machine() const { return machine_description(); }

}  // namespace bridgemark::backend::cpu
