#include "cli/help/refused_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>

#include "cli/help/help.h"

namespace bridgemark::cli {

namespace {

constexpr std::string_view kNotConverted = "Could not convert: ";

// The option that the error begins with, or null.
const CLI::Option* option_of(const CLI::App& command, std::string_view said) {
  if (said.starts_with(kNotConverted)) said.remove_prefix(kNotConverted.size());
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (said.starts_with(name + ": ") || said.starts_with(name + " = ")) return option;
  }
  return nullptr;
}

template <typename T>
bool is_number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_of_kind(const std::string& text, std::string_view kind) {
  return kind == "FLOAT" ? is_number<double>(text) : is_number<int>(text);
}

// Of several values the one that is refused: it is quoted, or it is none of the option's kind.
std::string refused_of(const CLI::Option& option, std::string_view kind, std::string_view said) {
  const std::vector<std::string>& given = option.results();
  const bool is_converted = !said.starts_with(kNotConverted);
  const auto found = std::ranges::find_if(given, [&](const std::string& value) {
    return is_converted ? said.find(value) != said.npos : !is_of_kind(value, kind);
  });
  return found == given.end() ? given.front() : *found;
}

std::string allowed_values(const OptionValues& values, const std::string& refused) {
  if (!values.choices.empty()) return fmt::format("one of {}", fmt::join(values.choices, ", "));
  std::string text = values.kind == "FLOAT" ? "a number" : "a whole number";
  if (values.range) {
    return fmt::format("{} in {}..{}", text, values.range->first, values.range->second);
  }
  const bool is_too_large =
      values.kind == "INT" && refused.find_first_not_of("0123456789") == refused.npos;
  if (is_too_large) text += fmt::format(" of at most {}", std::numeric_limits<int>::max());
  return text;
}

std::string number_of_values(int count) {
  return count == 1 ? std::string("one value") : fmt::format("{} values", count);
}

std::string wrong_count(const CLI::Option& option, std::string_view said) {
  const int least = option.get_items_expected_min(), most = option.get_items_expected_max();
  const bool is_last_without = said.ends_with("missing");
  return fmt::format("{} must have {}{}, got {}", option.get_name(),
                     least < most ? "at least " : "", number_of_values(least),
                     is_last_without ? std::string("none") : std::to_string(option.count()));
}

}  // namespace

std::optional<std::string> refused_value(const CLI::App& command, const CLI::ParseError& error) {
  const std::string said = error.what();
  const CLI::Option* option = option_of(command, said);
  if (!option) return std::nullopt;
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return wrong_count(*option, said);
  if (option->results().empty()) return std::nullopt;
  const std::string name = option->get_name();
  // The program's own validators say the rest of the line.
  if (said.starts_with(name + ": must be ")) return name + said.substr(name.size() + 1);
  const OptionValues values = option_values(*option);
  if (values.kind == "TEXT" && values.choices.empty()) return std::nullopt;
  const std::string refused = refused_of(*option, values.kind, said);
  if (values.kind.empty()) {
    return fmt::format("{} takes no value, got '{}'", name, refused);
  }
  return fmt::format("{} must be {}, got '{}'", name, allowed_values(values, refused), refused);
}

}  // namespace bridgemark::cli
