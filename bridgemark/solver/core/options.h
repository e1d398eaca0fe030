#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bridgemark {

// Values that keys of several solvers have in common.
inline constexpr std::string_view kRecipes[] = {"tuned", "paper"};  // of "recipe"
inline constexpr char kAuto[] = "auto";                             // rows held out decide

// One key that a solver understands.
struct OptionSpec {
  std::string key;
  std::string default_value;
  std::string help;
  bool counts_updates = false;  // a training takes longer by as much as it is larger
  std::string former_key = {};  // what older files call it, which is still read
};

// Values by the keys of the specs, where an older file gave a former key.
using OptionValues = std::map<std::string, std::string, std::less<>>;
OptionValues with_todays_keys(const std::vector<OptionSpec>& specs, OptionValues values);

// The options of one run: what the user set over the solver's defaults. Every value is checked when
// it is read, and the message names the key, its value and what is allowed.
class SolverOptions {
 public:
  explicit SolverOptions(std::vector<OptionSpec> specs);

  // Takes a former key as well. Throws InvalidArgument for an unknown one, with the nearest known.
  void set(std::string_view key, std::string_view value);

  // Sets a key that is still empty.
  void set_default(std::string_view key, std::string_view value);

  // Parses "key=value".
  void set_assignment(std::string_view assignment);

  // Bounds are inclusive; a message names `also` as another thing allowed.
  int integer(std::string_view key, int low, int high, std::string_view also = "") const;
  double real(std::string_view key, double low, double high, std::string_view also = "") const;
  const std::string& text(std::string_view key) const;
  // The place of the value among the choices.
  std::size_t choice(std::string_view key, std::span<const std::string_view> choices) const;

  const std::vector<OptionSpec>& specs() const { return specs_; }
  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }

 private:
  std::vector<OptionSpec> specs_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace bridgemark
