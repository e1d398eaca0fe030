#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace bridgemark::cli {

// "--threads must be a whole number in 0..4096, got 'two'": what CLI11 says of the values of an
// option in words of its own. None where the error is about something else.
std::optional<std::string> refused_value(const CLI::App& command, const CLI::ParseError& error);

}  // namespace bridgemark::cli
