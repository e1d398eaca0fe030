#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace bridgemark {

// Parses a file of at most 16 MiB. Throws FileError with the place of a syntax error, and for
// duplicate keys, nesting deeper than 64, numbers beyond double and text that is not UTF-8.
nlohmann::json load_json(const std::filesystem::path& path);

// The same for text that comes from `file`, which messages name.
nlohmann::json parse_json(std::string_view text, std::string_view file);

// Indented by 2, with a final newline, written atomically. NaN and infinities become null.
void save_json(const std::filesystem::path& path, const nlohmann::json& value);

// The array or object under `key`. Throws FileError that names `file` and `key` where there is
// none.
const nlohmann::json& json_part(const nlohmann::json& object, std::string_view key,
                                nlohmann::json::value_t type, std::string_view file);

// The value under `key`. T is int, std::int64_t, std::uint64_t, double, bool or std::string. Throws
// FileError that names `file` and `key` if it is missing or is no T; a whole number written 1e5
// or 3.0 is an integer.
template <typename T>
T json_get(const nlohmann::json& object, std::string_view key, std::string_view file);

// The same, or `fallback` where the key is missing or null.
template <typename T>
T json_get_or(const nlohmann::json& object, std::string_view key,
              const std::type_identity_t<T>& fallback, std::string_view file);

// Where a text stops being JSON, in words of our own: "not JSON at line 2, column 7".
std::string json_error_text(std::string_view text, const nlohmann::json::exception& error);

}  // namespace bridgemark
