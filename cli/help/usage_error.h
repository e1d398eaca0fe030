#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace bridgemark::cli {

// One line on a command line that cannot be read: what is wrong, the name that was likely meant,
// and the help that says more. An option that nobody knows comes before one that is missing.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace bridgemark::cli
