#pragma once

#include <string>

#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// Whether both are the same chain: kind, categories, steps and gamma, or the matrix or factors to
// 1e-12, which files and normalisation may change in its last bits.
bool same_process(const ReferenceProcess& a, const ReferenceProcess& b);

// In words, for messages: "gaussian with gamma 0.02 and 128 steps".
std::string reference_text(const ReferenceProcess& process);

}  // namespace bridgemark
