#pragma once

#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/solver/core/option_spec.h"

namespace bridgemark {

// Values by the keys of the specs, where an older file gave a former key.
using OptionValues = std::map<std::string, std::string, std::less<>>;
OptionValues with_todays_keys(const std::vector<OptionSpec>& specs, OptionValues values);

// Without those that are not used under the others (OptionSpec::use), which make no other run.
OptionValues used_options(const std::vector<OptionSpec>& specs, OptionValues values);

// The options of one run: what the user set over the solver's defaults. A value is checked by the
// option's spec when it is read, and the message names the key, its value and what is allowed. The
// key that is read must be one of the specs, of the kind that is asked for.
class SolverOptions {
 public:
  explicit SolverOptions(std::vector<OptionSpec> specs);

  // Takes a former key as well. Throws InvalidArgument for an unknown one, with the nearest known.
  void set(std::string_view key, std::string_view value);

  // The same for a value that a user has asked for: resolve() refuses it where it is not used, even
  // if it is the default.
  void give(std::string_view key, std::string_view value);

  // Gives the value of "key=value".
  void set_assignment(std::string_view assignment);

  // Gives what was left open its default, by the recipe where there is one. Throws InvalidArgument
  // for a value that would not be used (OptionSpec::use) and is not the default, which a record of
  // all options has.
  void resolve();

  // The same for a value that has no use with the rows of the problem, which a message calls
  // `name`; to be asked once the options are resolved.
  void refuse_unused_with(RowKind rows, std::string_view name) const;

  // `most` is an upper bound of the problem, where it is below that of the spec.
  int integer(std::string_view key, int most = std::numeric_limits<int>::max()) const;
  double real(std::string_view key, double most = std::numeric_limits<double>::infinity()) const;
  std::vector<int> integers(std::string_view key) const;
  // A whole number or another.
  double number(std::string_view key) const;
  // The place of the value among the choices, and whether it is this one of them.
  std::size_t choice(std::string_view key) const;
  bool is(std::string_view key, std::string_view name) const;
  // Whether the value is kAuto, where the spec allows it: to be asked before reading a number.
  bool is_auto(std::string_view key) const;
  // As it is.
  const std::string& text(std::string_view key) const;

  const std::vector<OptionSpec>& specs() const { return specs_; }
  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }

 private:
  const OptionSpec& spec(std::string_view key) const;
  const std::string& set_known(std::string_view key, std::string_view value);
  std::string default_value(const OptionSpec& spec) const;
  bool is_asked_for(const OptionSpec& spec) const;
  void refuse_unused(const OptionSpec& spec) const;

  std::vector<OptionSpec> specs_;
  std::map<std::string, std::string, std::less<>> values_;
  std::set<std::string, std::less<>> given_;
};

}  // namespace bridgemark
