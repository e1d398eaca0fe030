#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/core/error.h"
#include "bridgemark/verify/verify_kinds.h"

namespace bridgemark {

namespace {

std::vector<int> read_powers(const GoldenFile& file) {
  const std::string text = file.text("powers");
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  std::vector<int> powers;
  if (json.is_array()) {
    for (const nlohmann::json& power : json) {
      if (!power.is_number_integer() || power < 1 || power > kMaxTotalSteps) break;
      powers.push_back(power.get<int>());
    }
  }
  if (powers.empty() || powers.size() != json.size()) {
    throw_file(file.path, "metadata 'powers' must be a list of whole numbers in 1..{}, got '{}'",
               kMaxTotalSteps, text);
  }
  return powers;
}

}  // namespace

Verification verify_low_rank(const Context& context, const GoldenFile& file) {
  constexpr double kTolerance = 1e-10;
  const SafetensorsFile& tensors = file.tensors;
  const std::vector<int> powers = read_powers(file);
  const std::vector<std::size_t>& shape = tensors.shape("U");
  if (shape.size() != 2) throw_file(file.path, "tensor 'U' must have two axes");
  const std::size_t S = shape[0], r = shape[1];
  tensors.expect_shape("V", shape);
  tensors.expect_shape("log_power", std::vector{powers.size(), S, S});
  const ReferenceProcess process = ReferenceProcess::low_rank(
      {S, r, tensors.read_doubles("U")}, {S, r, tensors.read_doubles("V")},
      1.0 - file.number("stay"), *std::ranges::max_element(powers));

  std::vector<double> computed;
  for (const int n : powers) {
    const Matrix<double> log_power = process.factored_power(context, n)->log_table();
    computed.insert(computed.end(), log_power.data(), log_power.data() + log_power.size());
  }
  Verification result;
  result.checks = {
      {"log_power", max_error(computed, tensors.read_doubles("log_power")), kTolerance}};
  return result;
}

}  // namespace bridgemark
