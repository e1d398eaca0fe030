#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bridgemark {

class SolverOptions;

// The value by which an option leaves itself to the solver.
inline constexpr char kAuto[] = "auto";

// A whole number; bounds are inclusive.
struct IntegerRange {
  int low, high;
};

// A number; bounds are inclusive.
struct RealRange {
  double low, high;
};

// One of these names.
struct Choices {
  std::vector<std::string> names;
};

// 1 to `most` whole numbers with commas in between, each within inclusive bounds.
struct IntegerList {
  int most, low, high;
};

// The path of a file; empty: no file.
struct FilePath {};

// What the value of an option may be.
using OptionKind = std::variant<IntegerRange, RealRange, Choices, IntegerList, FilePath>;

// The value of an option that is not given, or the rule by which it follows from other options.
struct OptionDefault {
  using Rule = std::function<std::string(const SolverOptions&)>;

  OptionDefault(const char* value) : text(value) {}
  OptionDefault(std::string value) : text(std::move(value)) {}
  OptionDefault(std::string in_words, Rule by) : text(std::move(in_words)), rule(std::move(by)) {}

  std::string text;  // the value, or the rule in words
  Rule rule = {};    // reads options that come earlier in the solver's list
};

// When an option is used, where other options decide that.
struct OptionUse {
  std::string when;  // "init=p1 or init=p0"
  std::function<bool(const SolverOptions&)> is_used;
  std::string decided_by;  // the key that decides it, for the refusal
};

// Used with these choices of another option.
OptionUse used_with(std::string key, std::vector<std::string> choices);
// Used while another option is a number above this one, or auto where `key` may be.
OptionUse used_above(std::string key, double least);
// Used while another option is kAuto.
OptionUse used_with_auto(std::string key);

// Which rows of a problem an option is used with: those of a training set or of own data end.
enum class RowKind { kAny, kThatEnd, kEndless };

// One key that a solver understands: all there is to say of it. Help, checks, and Python's
// signatures and types are made from it.
struct OptionSpec {
  std::string key;
  OptionKind kind;
  OptionDefault default_value;              // of recipe=tuned, where a solver has recipes
  std::optional<OptionDefault> paper = {};  // of recipe=paper, where it has one of its own
  std::string help;                         // what it means, without values that are allowed
  bool or_auto = false;                     // whether kAuto is allowed as well
  bool counts_updates = false;              // a training takes longer by as much as it is larger
  std::string former_key = {};              // what older files call it, which is still read
  // Given where it is not used, it is refused; its default is taken in silence.
  std::optional<OptionUse> use = {};
  RowKind rows = RowKind::kAny;  // likewise

  // Whether it is empty until a recipe or a rule says what it is.
  bool is_left_open() const { return paper.has_value() || default_value.rule; }

  // What it is before that.
  std::string initial_value() const { return is_left_open() ? std::string() : default_value.text; }

  // "a whole number in 1..64 or auto": what a refusal and the help say. Empty for a file.
  std::string allowed() const;

  // The help with what is allowed and, where it is left open, the defaults.
  std::string described() const;
};

// "rows that end" or "endless draws".
std::string_view row_kind_text(RowKind kind);

// What a refusal says of a kind.
std::string allowed_text(const OptionKind& kind, bool or_auto);

}  // namespace bridgemark
