#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help/help.h"

// What a shell offers behind the program's name, from the same declarations as the help.
namespace bridgemark::cli {

// The value of an option or of a positional argument.
struct ValueWords {
  std::vector<std::string> words;
  bool files = false;  // a path may be meant, beside the words if there are any
};
ValueWords value_words(const OptionHelp& option);

// The keys of a solver for --set, each with its "=".
std::vector<std::string> key_words(std::string_view solver);

// The commands that the help lists, each before those within it.
std::vector<const CLI::App*> all_commands(const CLI::App& app);

std::vector<std::string> command_names(const std::vector<const CLI::App*>& commands);

std::vector<OptionHelp> options_of(const CLI::App& command);
std::vector<OptionHelp> positionals_of(const CLI::App& command);

// `text` in single quotes of a POSIX shell, whatever it holds.
std::string single_quoted(std::string_view text);

std::string bash_completions(const CLI::App& app);
std::string zsh_completions(const CLI::App& app);
std::string fish_completions(const CLI::App& app);

}  // namespace bridgemark::cli
