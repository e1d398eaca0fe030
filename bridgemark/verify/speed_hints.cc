#include "bridgemark/verify/speed_hints.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "bridgemark/core/context.h"

namespace bridgemark {

namespace {

// Kernels of OpenBLAS that use the vectors of AVX2 and later.
constexpr std::array<std::string_view, 6> kWideKernels = {
    "Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids", "Excavator"};

// A container or a batch system may give fewer than there are.
int cores_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

// "200000 100000" is the time of two processors, "max 100000" all of them.
double processors_of_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0.0, period = 0.0;
  return file >> quota >> period && period > 0.0 ? quota / period : 0.0;
}

double load_of_last_minute() {
  double load = 0.0;
  return getloadavg(&load, 1) == 1 ? load : 0.0;
}

bool has_word(const std::string& text, std::string_view wanted) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == wanted) return true;
  }
  return false;
}

void add_thread_hints(const SpeedFacts& facts, std::vector<std::string>& hints) {
  const int quota = static_cast<int>(std::ceil(facts.processors));
  const bool is_limited = quota > 0 && (facts.cores == 0 || quota < facts.cores);
  const int most = is_limited ? quota : facts.cores;
  if (most == 0) return;
  const std::string made =
      fmt::format("{} thread{} on {} core{}{}", facts.threads, facts.threads == 1 ? "" : "s", most,
                  most == 1 ? "" : "s", is_limited ? ", which is what this container gets" : "");
  if (facts.threads > most) hints.push_back(fmt::format("{}: set OMP_NUM_THREADS={}", made, most));
  if (facts.threads < most) {
    hints.push_back(fmt::format("{}: unset OMP_NUM_THREADS, or give --threads {}", made, most));
  }
  if (facts.load > most + 0.5 && facts.threads > 1 && !facts.waits_asleep) {
    hints.push_back(
        fmt::format("other programs take part of the cores (a load of {:.1f} on {}): "
                    "set OMP_WAIT_POLICY=passive, so that threads that wait sleep",
                    facts.load, most));
  }
}

}  // namespace

SpeedFacts examine_speed(const Facts& cpu) {
  const auto said = [&](std::string_view name) {
    const auto found = std::ranges::find(cpu, name, &Facts::value_type::first);
    return found == cpu.end() ? std::string() : found->second;
  };
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  return {.cores = cores_allowed(),
          .processors = processors_of_quota(),
          .threads = Context{}.threads(),
          .load = load_of_last_minute(),
          .waits_asleep = policy && (*policy == 'p' || *policy == 'P'),
          .vectors = said("vectors"),
          .products = said("matrix products")};
}

std::vector<std::string> speed_hints(const SpeedFacts& facts) {
  std::vector<std::string> hints;
  add_thread_hints(facts, hints);
  const bool has_wide_vectors = facts.vectors.find("AVX2") != std::string::npos;
  const bool can_choose = facts.products.find("DYNAMIC_ARCH") != std::string::npos;
  const bool is_wide = std::ranges::any_of(
      kWideKernels, [&](std::string_view kernels) { return has_word(facts.products, kernels); });
  if (has_wide_vectors && can_choose && !is_wide) {
    const bool has_512 = facts.vectors.find("AVX3") != std::string::npos;
    hints.push_back(
        fmt::format("OpenBLAS does not know this processor and multiplies by kernels of "
                    "an old one: set OPENBLAS_CORETYPE={}",
                    has_512 ? "SkylakeX" : "Haswell"));
  }
  return hints;
}

}  // namespace bridgemark
