#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/toml_text.h"

namespace bridgemark {

// A text and its line, which errors found later name.
using TextAtLine = std::pair<std::string, toml::source_index>;

// A TOML file whose values are asked for by their type. Every refusal is a FileError that names the
// file, the line, what was allowed and what is there.
class TomlReader {
 public:
  // Throws FileError where the text is not TOML.
  TomlReader(std::string file, std::string_view text)
      : file_(std::move(file)), root_(parse_toml(text, file_)) {}

  const std::string& file() const { return file_; }
  const toml::table& root() const { return root_; }

  template <typename... Args>
  [[noreturn]] void fail(toml::source_index line, fmt::format_string<Args...> format,
                         Args&&... args) const {
    throw_file(file_, "line {}: {}", line, fmt::format(format, std::forward<Args>(args)...));
  }

  static toml::source_index line_of(const toml::node& node) { return node.source().begin.line; }
  static std::string kind_of(const toml::node& node);  // "text", "a whole number", "a list", ...

  // The value of a key.
  const toml::node& required(const toml::table& table, const char* key,
                             std::string_view where) const;

  // Refuses any other key; `where` is what messages call the table.
  void expect_keys(const toml::table& table, std::string_view where,
                   const std::vector<std::string>& known) const;

  std::string text_of(const toml::node& node, std::string_view key) const;
  TextAtLine required_text(const toml::table& table, const char* key, std::string_view where) const;
  std::int64_t integer_of(const toml::node& node, std::string_view key, std::int64_t low,
                          std::int64_t high) const;
  std::string required_date(const toml::table& table, const char* key,
                            std::string_view where) const;  // YYYY-MM-DD
  bool flag_of(const toml::node& node, std::string_view key) const;

  // A list of texts that is not empty.
  std::vector<TextAtLine> required_texts(const toml::table& table, const char* key,
                                         std::string_view where) const;

  // The table under a key; null where there is none.
  const toml::table* table_of(const toml::table& table, const char* key) const;

  // The tables written [[key]]; at least one.
  std::vector<const toml::table*> required_tables(const toml::table& table, const char* key) const;

 private:
  std::string file_;
  toml::table root_;
};

}  // namespace bridgemark
