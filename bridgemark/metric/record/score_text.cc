#include "bridgemark/metric/record/score_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace bridgemark {

namespace {

constexpr double kRoundOff = 1e-12;      // of a sum of log-probabilities in float64
constexpr double kSmallestFixed = 1e-6;  // below, an exponent reads better than zeros

constexpr int kDecimals = 5;

}  // namespace

std::string significant_text(double value, int digits) {
  if (std::isnan(value)) return {};
  if (std::isinf(value)) return value > 0.0 ? "inf" : "-inf";
  if (std::abs(value) < kRoundOff) return "0";
  if (std::abs(value) < kSmallestFixed) return fmt::format("{:.{}e}", value, digits - 1);
  const auto place = [](double number) {
    return static_cast<int>(std::floor(std::log10(std::abs(number))));
  };
  // Rounding may carry into a new digit: 0.09996 becomes 0.100, not 0.1000.
  const int last = digits - 1 - place(value);
  const double rounded = std::round(value * std::pow(10.0, last)) / std::pow(10.0, last);
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - place(rounded)));
}

std::string score_text(double value) {
  constexpr int kDigits = 3;
  if (std::isinf(value) || std::isnan(value)) return significant_text(value, kDigits);
  if (std::abs(value) < kRoundOff) value = 0.0;  // never "-0.00000"
  if (value == 0.0 || std::abs(value) >= std::pow(10.0, kDigits - 1 - kDecimals)) {
    return fmt::format("{:.{}f}", value, kDecimals);
  }
  return significant_text(value, kDigits);
}

std::string error_text(double error, double value) {
  const std::string text = score_text(value);
  if (!std::isfinite(error) || text.find('e') != text.npos) return score_text(error);
  const std::size_t point = text.find('.');
  const std::size_t decimals = point == text.npos ? 0 : text.size() - point - 1;
  return fmt::format("{:.{}f}", error, std::max<std::size_t>(decimals, kDecimals));
}

}  // namespace bridgemark
