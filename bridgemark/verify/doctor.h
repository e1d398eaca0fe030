#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bridgemark/core/resources.h"

// What a report of a fault should say of the build and of the machine, and whether they compute
// what they should.
namespace bridgemark {

// What belongs together: a build, a machine, a device.
struct FactGroup {
  std::string name;
  Facts facts;
};

// A short computation on a device beside plain sums.
struct DeviceCheck {
  std::string name;
  double max_error = 0.0;
  double tolerance = 0.0;
  std::string failure = {};  // why there is no error

  bool passed() const { return failure.empty() && max_error <= tolerance; }  // NaN fails
};

struct MachineReport {
  std::vector<FactGroup> groups;
  std::vector<DeviceCheck> checks;
  std::vector<std::string> hints = {};  // see speed_hints.h

  bool passed() const;
};

// Nothing of it is secret: of the environment it has the variables that decide about threads and
// devices alone, and no path.
MachineReport examine_machine();

// Groups as objects of texts, "checks" and "hints" as arrays.
nlohmann::json machine_report_json(const MachineReport& report);

// The same to read: a line for each fact.
std::string machine_report_text(const MachineReport& report);

}  // namespace bridgemark
