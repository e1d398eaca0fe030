#include "cli/help/completions.h"

#include <algorithm>
#include <memory>

#include "bridgemark/experiment/named_experiments.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/registry.h"
#include "cli/command.h"
#include "cli/output.h"

namespace bridgemark::cli {

namespace {

std::vector<std::string> solver_names() {
  std::vector<std::string> names;
  for (const auto& solver : all_solvers()) names.push_back(solver->name());
  return names;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const PairSpec& spec : preset_specs()) names.push_back(spec.name);
  return names;
}

std::vector<std::string> experiment_names() {
  std::vector<std::string> names;
  for (const NamedExperiment& each : named_experiments()) names.emplace_back(each.name);
  return names;
}

std::vector<OptionHelp> arguments_of(const CLI::App& command, bool positional) {
  std::vector<OptionHelp> all;
  for (const OptionGroup& group : option_groups(command)) {
    for (const OptionHelp& option : group.options) {
      if (option.positional == positional) all.push_back(option);
    }
  }
  return all;
}

}  // namespace

ValueWords value_words(const OptionHelp& option) {
  if (!option.choices.empty()) return {option.choices, false};
  const std::string& name = option.names.back();
  if (name == "--device") return {{"cpu", "cuda"}, false};
  if (name == "SOLVER" || name == "--solver") return {solver_names(), false};
  if (name == "PAIR" || name == "--pair") return {preset_names(), true};
  if (name == "EXPERIMENT") return {experiment_names(), true};
  if (name == "--set") {
    std::vector<std::string> keys;
    for (const std::string& solver : solver_names()) {
      for (std::string& key : key_words(solver)) {
        if (std::ranges::find(keys, key) == keys.end()) keys.push_back(std::move(key));
      }
    }
    return {keys, false};
  }
  return {{}, option.kind.starts_with("TEXT")};
}

std::vector<std::string> key_words(std::string_view solver) {
  std::vector<std::string> keys;
  for (const OptionSpec& spec : find_solver(solver).options()) keys.push_back(spec.key + "=");
  return keys;
}

std::vector<const CLI::App*> all_commands(const CLI::App& app) {
  std::vector<const CLI::App*> all;
  for (const CLI::App* command : listed_commands(app)) {
    all.push_back(command);
    const std::vector<const CLI::App*> within = all_commands(*command);
    all.insert(all.end(), within.begin(), within.end());
  }
  return all;
}

std::vector<std::string> command_names(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

std::vector<OptionHelp> options_of(const CLI::App& command) { return arguments_of(command, false); }

std::vector<OptionHelp> positionals_of(const CLI::App& command) {
  return arguments_of(command, true);
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void add_completions(CLI::App& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completions", "Print what bash, zsh or fish needs to complete commands and options");
  command->footer(
      "Examples:\n"
      "  bridgemark completions bash > ~/.local/share/bash-completion/completions/bridgemark\n"
      "  bridgemark completions zsh > ~/.zfunc/_bridgemark\n"
      "  bridgemark completions fish > ~/.config/fish/completions/bridgemark.fish\n"
      "For zsh the folder must be in fpath before compinit is called. cmake --install puts all "
      "three where the shells look. Pairs, solvers and their keys are completed as well.");
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([=, &app, &action] {
    action = [=, &app] {
      write_output(*shell == "bash"  ? bash_completions(app)
                   : *shell == "zsh" ? zsh_completions(app)
                                     : fish_completions(app));
      return 0;
    };
  });
}

}  // namespace bridgemark::cli
