#pragma once

#include <cstdint>

#include "bridgemark/bridge/coupling.h"

namespace bridgemark {

// The first bits of the SHA-256 of the answers that a coupling keeps (not Coupling::draws_anew):
// those to the test inputs and conditional_samples of each conditional input. Draws that depend on
// it were known to nobody while the answers could still be changed.
std::uint64_t answers_digest(const Context& context, const Coupling& coupling, StatesView test_x0,
                             StatesView conditional_inputs, std::size_t conditional_samples);

}  // namespace bridgemark
