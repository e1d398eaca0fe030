#pragma once

#include <string>
#include <string_view>
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

namespace bridgemark {

// Parses the text of `file`. Throws FileError with the line of a syntax error, of values nested
// deeper than the parser allows, and of a key with more than 32 parts: a table is freed by a call
// for each of them, and a hundred thousand end the program.
toml::table parse_toml(std::string_view text, const std::string& file);

}  // namespace bridgemark
