#include "bridgemark/solver/core/options.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/suggest.h"

namespace bridgemark {

namespace {

// The whole text as a number; nothing where it is not one.
template <typename T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

SolverOptions::SolverOptions(std::vector<OptionSpec> specs) : specs_(std::move(specs)) {
  for (const OptionSpec& spec : specs_) values_[spec.key] = spec.default_value;
}

OptionValues with_todays_keys(const std::vector<OptionSpec>& specs, OptionValues values) {
  for (const OptionSpec& spec : specs) {
    if (spec.former_key.empty()) continue;
    auto node = values.extract(spec.former_key);
    if (node.empty()) continue;
    node.key() = spec.key;
    values.insert(std::move(node));
  }
  return values;
}

void SolverOptions::set(std::string_view key, std::string_view value) {
  for (const OptionSpec& spec : specs_) {
    if (!spec.former_key.empty() && spec.former_key == key) key = spec.key;
  }
  const auto found = values_.find(key);
  if (found != values_.end()) {
    found->second = value;
    return;
  }
  std::vector<std::string> known;
  for (const OptionSpec& spec : specs_) known.push_back(spec.key);
  if (known.empty()) throw_invalid("options", "this solver takes no options, got '{}'", key);
  throw_invalid("options", "unknown key '{}'; did you mean '{}'? (known: {})", key,
                nearest_name(key, known), fmt::join(known, ", "));
}

void SolverOptions::set_default(std::string_view key, std::string_view value) {
  if (text(key).empty()) set(key, value);
}

void SolverOptions::set_assignment(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw_invalid("options", "--set takes key=value, got '{}'", assignment);
  }
  set(assignment.substr(0, equals), assignment.substr(equals + 1));
}

int SolverOptions::integer(std::string_view key, int low, int high, std::string_view also) const {
  int value = 0;
  if (!parse(text(key), value) || value < low || value > high) {
    throw_invalid("options", "{} must be a whole number in {}..{}{}, got '{}'", key, low, high,
                  also, text(key));
  }
  return value;
}

double SolverOptions::real(std::string_view key, double low, double high,
                           std::string_view also) const {
  double value = 0.0;
  if (!parse(text(key), value) || !(value >= low && value <= high)) {
    throw_invalid("options", "{} must be a number in [{}, {}]{}, got '{}'", key, low, high, also,
                  text(key));
  }
  return value;
}

std::size_t SolverOptions::choice(std::string_view key,
                                  std::span<const std::string_view> choices) const {
  const auto found = std::find(choices.begin(), choices.end(), text(key));
  if (found == choices.end()) {
    throw_invalid("options", "{} must be one of {}, got '{}'", key, fmt::join(choices, ", "),
                  text(key));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

const std::string& SolverOptions::text(std::string_view key) const {
  return values_.find(key)->second;
}

}  // namespace bridgemark
