#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace bridgemark {

// A text as one column: quoted where a comma, a quote or a line break would break it. One that a
// spreadsheet would take for a formula gets an apostrophe before it.
inline std::string csv_field(const std::string& given) {
  const bool formula =
      !given.empty() && std::string_view("=+-@\t\r").find(given[0]) != std::string_view::npos;
  const std::string text = formula ? "'" + given : given;
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// A number in full; empty for NaN.
inline std::string csv_number(double value) {
  return std::isnan(value) ? std::string() : fmt::format("{}", value);
}

// One whose last digits differ from machine to machine, to six.
inline std::string csv_rounded(double value) {
  return std::isnan(value) ? std::string() : fmt::format("{:.6g}", value);
}

}  // namespace bridgemark
