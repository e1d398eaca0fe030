#include "bridgemark/verify/doctor.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/printable.h"
#include "bridgemark/io/toml_text.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/verify/speed_hints.h"

namespace bridgemark {

namespace {

std::string gibibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0));
}

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

FactGroup build_facts() {
  return {"build",
          {{"version", kVersion},
           {"compiler", compiler()},
#ifdef NDEBUG
           {"assertions", "off"},
#else
           {"assertions", "on"},
#endif
#ifdef _OPENMP
           {"OpenMP", std::to_string(_OPENMP)},
#else
           {"OpenMP", "none"},
#endif
           {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                               FMT_VERSION % 100)},
           {"nlohmann-json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                         NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
           {"toml++", fmt::format("{}.{}.{}", TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)}}};
}

FactGroup machine_facts(const SpeedFacts& speed) {
  utsname names{};
  uname(&names);
  return {"machine",
          {{"processor", machine_description()},
           {"cores allowed", speed.cores > 0 ? std::to_string(speed.cores) : "unknown"},
           {"threads by default", std::to_string(speed.threads)},
           {"memory", gibibytes(total_memory_bytes())},
           {"memory free", gibibytes(available_memory_bytes())},
           {"system", fmt::format("{} {}", names.sysname, names.release)},
           {"glibc", gnu_get_libc_version()}}};
}

// Variables that decide how many threads there are and which devices.
FactGroup environment_facts() {
  FactGroup group{"environment", {}};
  for (const char* name :
       {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES", "OPENBLAS_NUM_THREADS",
        "OPENBLAS_CORETYPE", "CUDA_VISIBLE_DEVICES", "SLURM_CPUS_PER_TASK", "LANG", "LC_ALL"}) {
    if (const char* value = std::getenv(name)) group.facts.emplace_back(name, printable(value));
  }
  return group;
}

FactGroup device_facts(Device device) {
  const std::string name(device_name(device));
  try {
    return {name, backend::of({.device = device}).facts()};
  } catch (const DeviceError& error) {
    return {name, {{"missing", error.what()}}};
  }
}

// A product in the log domain, values from e^-600 to 1 and zeros, beside log-sum-exp term by term.
DeviceCheck check_log_product(Device device) {
  constexpr std::size_t kRows = 13, kInner = 50, kCols = 31;  // no multiple of a vector
  constexpr double kTolerance = 1e-11, kNever = -std::numeric_limits<double>::infinity();
  DeviceCheck check{fmt::format("product in the log domain on {}", device_name(device)), 0.0,
                    kTolerance};
  const auto fill = [](Matrix<double>& matrix, std::uint64_t seed) {
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      const double drawn = draw_uniform({seed, DrawPurpose::kShuffle}, i, 0);
      matrix.data()[i] = drawn < 0.1 ? kNever : -600.0 * drawn * drawn;
    }
  };
  Matrix<double> a(kRows, kInner), b(kInner, kCols), found(kRows, kCols);
  fill(a, 1);
  fill(b, 2);
  try {
    const Context context{.device = device};
    backend::of(context).require_device();
    backend::of(context).log_matmul(context, a, b, found);
  } catch (const Error& error) {
    check.failure = error.what();
    return check;
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kCols; ++j) {
      std::vector<double> terms(kInner);
      for (std::size_t k = 0; k < kInner; ++k) terms[k] = a(i, k) + b(k, j);
      const double expected = log_sum(terms.data(), kInner);
      const double error = found(i, j) == expected ? 0.0 : std::abs(found(i, j) - expected);
      check.max_error = std::isnan(error) ? error : std::max(check.max_error, error);
      if (std::isnan(error)) return check;
    }
  }
  return check;
}

}  // namespace

bool MachineReport::passed() const { return std::ranges::all_of(checks, &DeviceCheck::passed); }

MachineReport examine_machine() {
  const SpeedFacts speed = examine_speed(backend::of({.device = Device::kCpu}).facts());
  MachineReport report{{build_facts(), machine_facts(speed)}, {}, speed_hints(speed)};
  for (const Device device : {Device::kCpu, Device::kCuda}) {
    report.groups.push_back(device_facts(device));
    const Facts& facts = report.groups.back().facts;
    const bool is_there = facts.empty() || facts[0].first != "missing";
    if (is_there) report.checks.push_back(check_log_product(device));
  }
  report.groups.push_back(environment_facts());
  return report;
}

nlohmann::json machine_report_json(const MachineReport& report) {
  nlohmann::json json;
  for (const FactGroup& group : report.groups) {
    nlohmann::json facts = nlohmann::json::object();
    for (const auto& [name, value] : group.facts) facts[name] = value;
    json[group.name] = std::move(facts);
  }
  json["checks"] = nlohmann::json::array();
  for (const DeviceCheck& check : report.checks) {
    json["checks"].push_back({{"name", check.name},
                              {"passed", check.passed()},
                              {"max_error", check.max_error},
                              {"tolerance", check.tolerance}});
    if (!check.failure.empty()) json["checks"].back()["failure"] = check.failure;
  }
  json["passed"] = report.passed();
  json["hints"] = report.hints;
  return json;
}

std::string machine_report_text(const MachineReport& report) {
  std::string text;
  for (const FactGroup& group : report.groups) {
    if (group.facts.empty()) continue;
    text += group.name + "\n";
    for (const auto& [name, value] : group.facts) text += fmt::format("  {:<21} {}\n", name, value);
  }
  text += "checks\n";
  for (const DeviceCheck& check : report.checks) {
    const std::string found =
        check.failure.empty()
            ? fmt::format("largest error {:.1e}, allowed {:.0e}", check.max_error, check.tolerance)
            : check.failure;
    text += fmt::format("  {}: {}: {}\n", check.passed() ? "ok" : "FAILED", check.name, found);
  }
  if (!report.hints.empty()) text += "what makes this machine slow\n";
  for (const std::string& hint : report.hints) text += fmt::format("  {}\n", hint);
  return text;
}

}  // namespace bridgemark
