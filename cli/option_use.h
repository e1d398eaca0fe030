#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

// No option does nothing: one that is not for what a command is asked to do is refused.
namespace bridgemark::cli {

// Declares, beside the option, what it is for: `for_what` reads "PAIR 'custom'" after "goes with".
// `given_instead` is asked once all options are read; where the option is not used it returns what
// was given, which the refusal names.
void only_for(CLI::Option* option, std::string for_what,
              std::function<std::optional<std::string>()> given_instead);

// Throws InvalidArgument for an option of the command, or of one inside of it, that was given and
// is not used. Options that nothing is declared of are used whatever else is given.
void refuse_unused_options(const CLI::App& command);

}  // namespace bridgemark::cli
