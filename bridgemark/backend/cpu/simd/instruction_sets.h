#pragma once

#include <string>

namespace bridgemark::backend::cpu {

// The sets of vector instructions that kernels are compiled for and that this machine has, the one
// that they take first, and the version of Highway.
std::string instruction_sets();

}  // namespace bridgemark::backend::cpu
