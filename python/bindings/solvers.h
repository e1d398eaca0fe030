#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bridgemark/bridge/coupling.h"

namespace bridgemark::python {

// bridgemark.Coupling: what a solver made, and what the making had to say.
struct FittedCoupling {
  std::string solver;
  std::shared_ptr<const Coupling> coupling;
  nlohmann::json diagnostics;
};

}  // namespace bridgemark::python
