#include "bridgemark/solver/core/option_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "bridgemark/solver/core/options.h"

namespace bridgemark {

namespace {

struct AllowedText {
  std::string operator()(const IntegerRange& range) const {
    return fmt::format("a whole number in {}..{}", range.low, range.high);
  }
  std::string operator()(const RealRange& range) const {
    if (std::isinf(range.low) && std::isinf(range.high)) return "a number";
    if (std::isinf(range.high)) return fmt::format("a number of at least {}", range.low);
    if (std::isinf(range.low)) return fmt::format("a number of at most {}", range.high);
    return fmt::format("a number in [{}, {}]", range.low, range.high);
  }
  std::string operator()(const Choices& choices) const {
    return fmt::format("one of {}", fmt::join(choices.names, ", "));
  }
  std::string operator()(const IntegerList& list) const {
    return fmt::format("1 to {} whole numbers in [{}, {}]", list.most, list.low, list.high);
  }
  std::string operator()(const FilePath&) const { return {}; }
};

}  // namespace

std::string allowed_text(const OptionKind& kind, bool or_auto) {
  return std::visit(AllowedText{}, kind) + (or_auto ? " or auto" : "");
}

OptionUse used_with(std::string key, std::vector<std::string> choices) {
  std::vector<std::string> each;
  for (const std::string& choice : choices) each.push_back(key + "=" + choice);
  return {fmt::format("{}", fmt::join(each, " or ")),
          [=](const SolverOptions& options) {
            return std::ranges::any_of(
                choices, [&](const std::string& choice) { return options.is(key, choice); });
          },
          key};
}

OptionUse used_above(std::string key, double least) {
  return {fmt::format("{} above {}", key, least),
          [=](const SolverOptions& options) { return options.number(key) > least; }, key};
}

OptionUse used_with_auto(std::string key) {
  return {fmt::format("{}={}", key, kAuto),
          [=](const SolverOptions& options) { return options.is_auto(key); }, key};
}

std::string_view row_kind_text(RowKind kind) {
  switch (kind) {
    case RowKind::kThatEnd:
      return "rows that end, of a training set or of data";
    case RowKind::kEndless:
      return "endless draws of a pair";
    case RowKind::kAny:
      break;
  }
  return "any rows";
}

std::string OptionSpec::allowed() const { return allowed_text(kind, or_auto); }

std::string OptionSpec::described() const {
  std::string text = help;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (use) add("goes with " + use->when);
  if (rows != RowKind::kAny) add(fmt::format("goes with {}", row_kind_text(rows)));
  if (const std::string values = allowed(); !values.empty()) add(values);
  if (paper) {
    text += fmt::format(" (tuned {}; paper {})", default_value.text, paper->text);
  } else if (default_value.rule) {
    text += fmt::format(" (default {})", default_value.text);
  }
  return text;
}

}  // namespace bridgemark
