#include "bridgemark/solver/core/options.h"

#include <algorithm>
#include <cassert>
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

[[noreturn]] void refuse(const OptionSpec& spec, const OptionKind& kind, std::string_view value) {
  throw_invalid("options", "{} must be {}, got '{}'", spec.key, allowed_text(kind, spec.or_auto),
                value);
}

}  // namespace

SolverOptions::SolverOptions(std::vector<OptionSpec> specs) : specs_(std::move(specs)) {
  for (const OptionSpec& spec : specs_) values_[spec.key] = spec.initial_value();
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

OptionValues used_options(const std::vector<OptionSpec>& specs, OptionValues values) {
  SolverOptions options(specs);
  for (const auto& [key, value] : values) options.set(key, value);
  for (const OptionSpec& spec : specs) {
    if (spec.use && !spec.use->is_used(options)) values.erase(spec.key);
  }
  return values;
}

void SolverOptions::set(std::string_view key, std::string_view value) { set_known(key, value); }

void SolverOptions::give(std::string_view key, std::string_view value) {
  given_.insert(set_known(key, value));
}

// The key as it is called today.
const std::string& SolverOptions::set_known(std::string_view key, std::string_view value) {
  for (const OptionSpec& spec : specs_) {
    if (!spec.former_key.empty() && spec.former_key == key) key = spec.key;
  }
  const auto found = values_.find(key);
  if (found != values_.end()) {
    found->second = value;
    return found->first;
  }
  std::vector<std::string> known;
  for (const OptionSpec& spec : specs_) known.push_back(spec.key);
  if (known.empty()) throw_invalid("options", "this solver takes no options, got '{}'", key);
  throw_invalid("options", "unknown key '{}'{} (known: {})", key, meant_hint(key, known),
                fmt::join(known, ", "));
}

void SolverOptions::set_assignment(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw_invalid("options", "--set takes key=value, got '{}'", assignment);
  }
  give(assignment.substr(0, equals), assignment.substr(equals + 1));
}

void SolverOptions::resolve() {
  for (const OptionSpec& spec : specs_) {
    std::string& value = values_[spec.key];
    if (spec.is_left_open() && value.empty()) value = default_value(spec);
    if (spec.use) refuse_unused(spec);
  }
}

std::string SolverOptions::default_value(const OptionSpec& spec) const {
  const bool as_published = spec.paper && values_.contains("recipe") && is("recipe", "paper");
  const OptionDefault& taken = as_published ? *spec.paper : spec.default_value;
  return taken.rule ? taken.rule(*this) : taken.text;
}

// A record of all options has defaults that nobody asked for.
bool SolverOptions::is_asked_for(const OptionSpec& spec) const {
  return given_.contains(spec.key) || text(spec.key) != default_value(spec);
}

void SolverOptions::refuse_unused_with(RowKind rows, std::string_view name) const {
  for (const OptionSpec& spec : specs_) {
    if (spec.rows == RowKind::kAny || spec.rows == rows || !is_asked_for(spec)) continue;
    throw_invalid("options", "{} goes with {}, got {}={} with {}, {}", spec.key,
                  row_kind_text(spec.rows), spec.key, text(spec.key), name, row_kind_text(rows));
  }
}

void SolverOptions::refuse_unused(const OptionSpec& spec) const {
  if (!is_asked_for(spec) || spec.use->is_used(*this)) return;
  throw_invalid("options", "{} goes with {}, got {}={} with {}={}", spec.key, spec.use->when,
                spec.key, text(spec.key), spec.use->decided_by, text(spec.use->decided_by));
}

int SolverOptions::integer(std::string_view key, int most) const {
  IntegerRange range = std::get<IntegerRange>(spec(key).kind);
  range.high = std::min(range.high, most);
  int value = 0;
  if (!parse(text(key), value) || value < range.low || value > range.high) {
    refuse(spec(key), range, text(key));
  }
  return value;
}

double SolverOptions::real(std::string_view key, double most) const {
  RealRange range = std::get<RealRange>(spec(key).kind);
  range.high = std::min(range.high, most);
  double value = 0.0;
  if (!parse(text(key), value) || !(value >= range.low && value <= range.high)) {
    refuse(spec(key), range, text(key));
  }
  return value;
}

double SolverOptions::number(std::string_view key) const {
  return std::holds_alternative<IntegerRange>(spec(key).kind) ? integer(key) : real(key);
}

std::vector<int> SolverOptions::integers(std::string_view key) const {
  const auto& list = std::get<IntegerList>(spec(key).kind);
  std::vector<int> values;
  std::string_view rest = text(key);
  for (bool last = false; !last;) {
    const std::size_t comma = rest.find(',');
    last = comma == std::string_view::npos;
    int value = 0;
    if (!parse(rest.substr(0, comma), value) || value < list.low || value > list.high ||
        values.size() == static_cast<std::size_t>(list.most)) {
      refuse(spec(key), list, text(key));
    }
    values.push_back(value);
    if (!last) rest.remove_prefix(comma + 1);
  }
  return values;
}

std::size_t SolverOptions::choice(std::string_view key) const {
  const auto& choices = std::get<Choices>(spec(key).kind);
  const auto found = std::ranges::find(choices.names, text(key));
  if (found == choices.names.end()) refuse(spec(key), choices, text(key));
  return static_cast<std::size_t>(found - choices.names.begin());
}

bool SolverOptions::is(std::string_view key, std::string_view name) const {
  const std::vector<std::string>& names = std::get<Choices>(spec(key).kind).names;
  assert(std::ranges::find(names, name) != names.end());
  return names[choice(key)] == name;
}

bool SolverOptions::is_auto(std::string_view key) const {
  return spec(key).or_auto && text(key) == kAuto;
}

const std::string& SolverOptions::text(std::string_view key) const {
  return values_.find(key)->second;
}

const OptionSpec& SolverOptions::spec(std::string_view key) const {
  return *std::ranges::find(specs_, key, &OptionSpec::key);
}

}  // namespace bridgemark
