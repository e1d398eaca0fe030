#include "cli/help/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "bridgemark/core/suggest.h"
#include "bridgemark/solver/registry.h"
#include "cli/help/completions.h"
#include "cli/help/help.h"
#include "cli/help/refused_value.h"

namespace bridgemark::cli {

namespace {

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const OptionGroup& group : option_groups(command)) {
    for (const OptionHelp& option : group.options) {
      if (option.positional) continue;
      names.insert(names.end(), option.names.begin(), option.names.end());
    }
  }
  return names;
}

// The keys that solvers have, where the command takes some.
std::vector<std::string> solver_keys(const CLI::App& command) {
  std::vector<std::string> keys;
  if (!command.get_option_no_throw("--set")) return keys;
  for (const auto& solver : all_solvers()) {
    for (const OptionSpec& spec : solver->options()) keys.push_back(spec.key);
  }
  return keys;
}

// "--batch-size" is meant for a solver: its key batch_size.
std::string key_of(std::string_view option) {
  std::string key(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  std::ranges::replace(key, '-', '_');
  return key;
}

std::string unknown_word(const CLI::App& app, const CLI::App* command, const std::string& word) {
  if (!word.starts_with("-")) {
    const std::vector<std::string> names = command_names(listed_commands(command ? *command : app));
    if (names.empty()) return fmt::format("{} has no use for '{}'", full_name(*command), word);
    return fmt::format("unknown command '{}{}'{}", command ? full_name(*command) + " " : "", word,
                       meant_hint(word, names));
  }
  const std::string option = word.substr(0, word.find('='));
  if (!command) {
    return fmt::format("unknown option '{}'{}", option, meant_hint(option, names_of_options(app)));
  }
  const std::string what = fmt::format("{} has no option '{}'", full_name(*command), option);
  const std::vector<std::string> keys = solver_keys(*command);
  const std::string key = key_of(option);
  if (std::ranges::find(keys, key) != keys.end()) {
    return fmt::format("{}; it is a key of solvers: --set {}=VALUE", what, key);
  }
  const std::string likely = meant_hint(option, names_of_options(*command));
  if (!likely.empty()) return what + likely;
  const std::optional<std::string> near = near_name(key, keys);
  return near ? fmt::format("{}; did you mean '--set {}=VALUE'?", what, *near) : what;
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = given_command(app);
  std::vector<std::string> unknown;
  // What `run` does not know goes to sbatch, unless that is what the error is about.
  const bool passes_on = command && command->get_allow_extras() &&
                         dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr;
  if (!passes_on) unknown = command ? command->remaining() : app.remaining();
  const std::string what =
      unknown.empty() ? refused_value(command ? *command : app, error).value_or(error.what())
                      : unknown_word(app, command, unknown.front());
  return fmt::format("{}{} see bridgemark {}--help", what, what.ends_with('?') ? "" : ";",
                     command ? full_name(*command) + " " : "");
}

}  // namespace bridgemark::cli
