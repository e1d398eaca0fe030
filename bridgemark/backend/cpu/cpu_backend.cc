#include "bridgemark/backend/cpu/cpu_backend.h"

#include "bridgemark/backend/cpu/simd/gemm.h"
#include "bridgemark/backend/cpu/simd/instruction_sets.h"
#include "bridgemark/core/resources.h"

namespace bridgemark::backend::cpu {

std::string CpuBackend::machine() const { return machine_description(); }

Facts CpuBackend::facts() const {
  return {{"vectors", instruction_sets()}, {"matrix products", gemm_library()}};
}

}  // namespace bridgemark::backend::cpu
