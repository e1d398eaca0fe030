#include "bridgemark/io/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/printable.h"

namespace bridgemark {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;
// Copying and dumping a value recurse once a level.
constexpr int kMaxDepth = 64;

// Refuses what nlohmann's parser lets through: duplicate keys and deep nesting.
class StructureCheck {
 public:
  explicit StructureCheck(std::string_view file) : file_(file) {}

  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMaxDepth) throw_file(file_, "nested deeper than {} levels", kMaxDepth);
    const std::size_t level = static_cast<std::size_t>(depth);
    if (event == json::parse_event_t::object_start) {
      // The keys of an object are reported one level below the object itself.
      if (keys_.size() < level + 2) keys_.resize(level + 2);
      keys_[level + 1].clear();
    } else if (event == json::parse_event_t::key) {
      const std::string& key = parsed.get_ref<const std::string&>();
      if (!keys_.at(level).insert(key).second) {
        throw_file(file_, "key '{}' appears twice", printable(key));
      }
    }
    return true;
  }

 private:
  std::string_view file_;
  std::vector<std::set<std::string>> keys_;  // seen in the open object, by level
};

std::string describe(const json& value) {
  if (value.is_array() || value.is_object()) return std::string("an ") + value.type_name();
  return printable(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

// T is int64_t or uint64_t.
template <typename T>
std::optional<T> as_integer(const json& value) {
  if (value.is_number_unsigned()) {
    const std::uint64_t number = value.get<std::uint64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  } else if (value.is_number_integer()) {
    const std::int64_t number = value.get<std::int64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  } else if (value.is_number_float()) {
    constexpr double kExact = 9007199254740992.0;  // 2^53: beyond, a double skips integers
    const double number = value.get<double>();
    const bool allowed = std::is_signed_v<T> || number >= 0.0;
    if (allowed && std::abs(number) <= kExact && std::trunc(number) == number) {
      return static_cast<T>(number);
    }
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> convert(const json& value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (value.is_boolean()) return value.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    const std::optional<Wide> number = as_integer<Wide>(value);
    if (number && std::in_range<T>(*number)) return static_cast<T>(*number);
  } else if constexpr (std::is_same_v<T, double>) {
    if (value.is_number()) return value.get<double>();
  } else {
    if (value.is_string()) return value.get<std::string>();
  }
  return std::nullopt;
}

template <typename T>
std::string expected() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, double>) return "a number";
  if constexpr (std::is_same_v<T, std::string>) return "a string";
  if constexpr (std::is_integral_v<T>) {
    return fmt::format("an integer in {}..{}", std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max());
  }
}

// Null where the key is missing.
const json* find(const json& object, std::string_view key, std::string_view file) {
  if (!object.is_object()) throw_file(file, "expected an object, got {}", describe(object));
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}

template <typename T>
T convert_or_throw(const json& value, std::string_view key, std::string_view file) {
  if (std::optional<T> converted = convert<T>(value)) return *std::move(converted);
  throw_file(file, "key '{}' must be {}, got {}", printable(key), expected<T>(), describe(value));
}

}  // namespace

json load_json(const std::filesystem::path& path) {
  return parse_json(read_file(path, kMaxJsonBytes), path.string());
}

json parse_json(std::string_view text, std::string_view file) {
  // The parser takes a NUL for the end of the text and would ignore what follows.
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos) {
    throw_file(file, "not JSON: NUL byte at offset {}", at);
  }
  try {
    return json::parse(text, StructureCheck(file));
  } catch (const json::exception& error) {
    throw_file(file, "{}", json_error_text(text, error));
  }
}

void save_json(const std::filesystem::path& path, const json& value) {
  std::string text;
  try {
    text = value.dump(2);
  } catch (const json::exception&) {
    throw_file(path.string(), "cannot be written as JSON: a text is not UTF-8");
  }
  text.push_back('\n');
  write_file_atomically(path, text);
}

const json& json_part(const json& object, std::string_view key, json::value_t type,
                      std::string_view file) {
  const json* const value = find(object, key, file);
  if (value == nullptr) throw_file(file, "key '{}' is missing", printable(key));
  if (value->type() != type) {
    throw_file(file, "key '{}' must be an {}, got {}", printable(key), json(type).type_name(),
               describe(*value));
  }
  return *value;
}

template <typename T>
T json_get(const json& object, std::string_view key, std::string_view file) {
  const json* const value = find(object, key, file);
  if (value == nullptr) throw_file(file, "key '{}' is missing", printable(key));
  return convert_or_throw<T>(*value, key, file);
}

template <typename T>
T json_get_or(const json& object, std::string_view key, const std::type_identity_t<T>& fallback,
              std::string_view file) {
  const json* const value = find(object, key, file);
  if (value == nullptr || value->is_null()) return fallback;
  return convert_or_throw<T>(*value, key, file);
}

std::string json_error_text(std::string_view text, const json::exception& error) {
  const auto* syntax = dynamic_cast<const json::parse_error*>(&error);
  if (syntax == nullptr) return "not JSON: a number is beyond double";
  // The parser counts from 1, and the byte is the last one that it read.
  const std::string_view before = text.substr(0, syntax->byte > 0 ? syntax->byte - 1 : 0);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') + 1;  // 0 where there is none
  const std::size_t column = before.size() - start + 1;
  return line == 1 && text.find('\n') == text.npos
             ? fmt::format("not JSON at column {}", column)
             : fmt::format("not JSON at line {}, column {}", line, column);
}

template int json_get(const json&, std::string_view, std::string_view);
template std::int64_t json_get(const json&, std::string_view, std::string_view);
template std::uint64_t json_get(const json&, std::string_view, std::string_view);
template double json_get(const json&, std::string_view, std::string_view);
template bool json_get(const json&, std::string_view, std::string_view);
template std::string json_get(const json&, std::string_view, std::string_view);

template int json_get_or<int>(const json&, std::string_view, const int&, std::string_view);
template std::int64_t json_get_or<std::int64_t>(const json&, std::string_view, const std::int64_t&,
                                                std::string_view);
template std::uint64_t json_get_or<std::uint64_t>(const json&, std::string_view,
                                                  const std::uint64_t&, std::string_view);
template double json_get_or<double>(const json&, std::string_view, const double&, std::string_view);
template bool json_get_or<bool>(const json&, std::string_view, const bool&, std::string_view);
template std::string json_get_or<std::string>(const json&, std::string_view, const std::string&,
                                              std::string_view);

}  // namespace bridgemark
