#include "bridgemark/verify/verification.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/verify/verify_kinds.h"

namespace bridgemark {

namespace {

constexpr double kDoubleTolerance = 1e-9;
constexpr double kFloatTolerance = 1e-4;

struct Kind {
  const char* name;
  const char* telling_tensor;  // no kind below has it
  Verification (*verify)(const Context&, const GoldenFile&);
};

constexpr Kind kKinds[] = {
    {"reference", "log_cumulative", verify_reference},
    {"bridge", "log_transition_marginals", verify_bridge},
    {"dlightsb", "grad_log_cores", verify_dlightsb},
    {"dlightsbm", "kl_grad_log_cores", verify_dlightsbm},
    {"csbm", "x_clean", verify_csbm},
    {"metrics", "pred", verify_metrics},
    {"sinkhorn", "log_plan", verify_sinkhorn},
    {"lowrank", "log_power", verify_low_rank},
    {"tree", "node_of", verify_tree},
    {"columns", "log_conditional", verify_columns},
};

template <typename T>
T parse_metadata(const GoldenFile& file, std::string_view key) {
  const std::string value = file.text(key);
  T parsed{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc() || end != value.data() + value.size()) {
    throw_file(file.path, "metadata '{}' must be a number, got '{}'", key, value);
  }
  return parsed;
}

}  // namespace

std::string GoldenFile::text(std::string_view key) const {
  const auto found = tensors.metadata().find(std::string(key));
  if (found == tensors.metadata().end()) throw_file(path, "metadata '{}' is missing", key);
  return found->second;
}

int GoldenFile::integer(std::string_view key) const { return parse_metadata<int>(*this, key); }

double GoldenFile::number(std::string_view key) const { return parse_metadata<double>(*this, key); }

ReferenceChain GoldenFile::chain() const {
  const std::string kind = text("kind");
  const int intermediate = integer("num_intermediate"), skip = integer("skip");
  if (intermediate < 0 || intermediate > 1 << 16 || skip < 1 || skip > 1 << 14) {
    throw_file(path, "num_intermediate must lie in 0..65536 and skip in 1..16384, got {} and {}",
               intermediate, skip);
  }
  const int num_steps = intermediate + 1;
  const int categories = integer("num_categories");
  try {
    if (kind == "uniform") {
      return {ReferenceProcess::uniform(categories, number("gamma"), num_steps * skip), num_steps};
    }
    if (kind == "gaussian") {
      return {ReferenceProcess::gaussian(categories, number("gamma"), num_steps * skip), num_steps};
    }
  } catch (const InvalidArgument& error) {
    throw_file(path, "{}", error.what());
  }
  throw_file(path, "metadata 'kind' must be uniform or gaussian, got '{}'", kind);
}

States GoldenFile::states(const char* name, std::size_t rows, std::size_t dim,
                          int num_categories) const {
  tensors.expect_shape(name, {rows, dim});
  States read(rows, dim, tensors.read_int32(name));
  check_states(name, read, dim, num_categories);
  return read;
}

double max_error(std::span<const double> computed, std::span<const double> expected) {
  if (computed.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double largest = 0.0;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    if (computed[i] == expected[i]) continue;
    const double error = std::abs(computed[i] - expected[i]);
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, error);
  }
  return largest;
}

template <typename T>
void add_training_check(const GoldenFile& file, const std::string& name,
                        std::span<const double> computed, Verification& result) {
  const std::vector<double> expected = file.tensors.read_doubles(name);
  const double error = max_error(computed, expected);
  if (sizeof(T) == sizeof(double)) {
    result.checks.push_back({name, error, kDoubleTolerance});
    return;
  }
  double largest = 0.0;
  for (const double value : expected) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  result.checks.push_back(
      {name + " (float32)", largest > 0.0 ? error / largest : error, kFloatTolerance});
}

template void add_training_check<float>(const GoldenFile&, const std::string&,
                                        std::span<const double>, Verification&);
template void add_training_check<double>(const GoldenFile&, const std::string&,
                                         std::span<const double>, Verification&);

bool Verification::passed() const {
  return std::all_of(checks.begin(), checks.end(),
                     [](const TensorCheck& check) { return check.passed(); });
}

Verification verify_file(const Context& context, const std::filesystem::path& path) {
  const GoldenFile file{path.string(), SafetensorsFile::load(path)};
  std::string known;
  for (const Kind& kind : kKinds) {
    if (file.tensors.has(kind.telling_tensor)) {
      try {
        Verification verification = kind.verify(context, file);
        verification.kind = kind.name;
        return verification;
      } catch (const InvalidArgument& error) {
        throw_file(file.path, "{}", error.what());
      }
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.name);
  }
  throw_file(file.path, "unknown kind of reference file (tensors: {}); the known kinds are {}",
             fmt::join(file.tensors.names(), ", "), known);
}

}  // namespace bridgemark
