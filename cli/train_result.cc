#include "cli/train_result.h"

#include <cmath>
#include <string>
#include <utility>

#include "bridgemark/io/printable.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

nlohmann::json with_few_digits(nlohmann::json value) {
  if (value.is_number_float() && std::isfinite(value.get<double>())) {
    value = std::stod(fmt::format("{:.4g}", value.get<double>()));
  }
  if (value.is_structured()) {
    for (nlohmann::json& each : value) each = with_few_digits(std::move(each));
  }
  return value;
}

}  // namespace

void say_diagnostics(const nlohmann::json& result) {
  for (const auto& [key, value] : result["diagnostics"].items()) {
    say("  {:<28} {}\n", terminal_text(key),
        terminal_text(
            with_few_digits(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  }
}

}  // namespace bridgemark::cli
