#pragma once

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/json.h"

namespace bridgemark::bench {

// The result about to be timed is wrong.
class CheckFailed : public Error {
 public:
  using Error::Error;
};

template <typename... Args>
void check(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) throw CheckFailed(fmt::format(format, std::forward<Args>(args)...));
}

template <typename Body>
double seconds(Body&& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The lower of the two middle values for an even count; needs one value.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline double minimum(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

// Largest resident set of this process so far. Linux counts in KiB.
inline double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

// Prints "name: value unit (limit ...): ok" and says whether the limit holds.
inline bool judge(const std::string& name, double value, double limit, const std::string& unit) {
  const bool holds = value <= limit;
  fmt::print("{}: {:.3g}{} (limit {:g}{}): {}\n", name, value, unit, limit, unit,
             holds ? "ok" : "FAILED");
  return holds;
}

struct Options {
  int threads = 2;
  int repeats = 9;
  std::string json;
};

inline void add_options(CLI::App& app, Options& options) {
  app.add_option("--threads", options.threads, "Threads to time with")->capture_default_str();
  app.add_option("--repeats", options.repeats, "Repetitions; the median is shown")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--json", options.json, "Also write the numbers to this file");
}

inline void write_json(const Options& options, nlohmann::json result) {
  if (options.json.empty()) return;
  result["version"] = kVersion;
  result["threads"] = options.threads;
  save_json(options.json, result);
}

// Exit status as for the program: 0, 1 for a failed check or limit, 2 for bad input.
template <typename Run>
int run_main(CLI::App& app, int argc, char** argv, Run&& run) {
  try {
    app.parse(argc, argv);
    return run() ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const CheckFailed& error) {
    fmt::print(stderr, "check failed: {}\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}

}  // namespace bridgemark::bench
