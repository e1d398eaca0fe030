#include "bridgemark/io/toml_reader.h"

#include <algorithm>

#include "bridgemark/core/suggest.h"
#include "bridgemark/io/printable.h"

namespace bridgemark {

std::string TomlReader::kind_of(const toml::node& node) {
  if (node.is_string()) return "text";
  if (node.is_integer()) return "a whole number";
  if (node.is_floating_point()) return "a number";
  if (node.is_boolean()) return "true or false";
  if (node.is_array()) return "a list";
  if (node.is_table()) return "a table";
  return "a date or time";
}

void TomlReader::expect_keys(const toml::table& table, std::string_view where,
                             const std::vector<std::string>& known) const {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    fail(key.source().begin.line, "unknown key '{}' in {}{} (known: {})", printable(name), where,
         meant_hint(name, known), fmt::join(known, ", "));
  }
}

std::string TomlReader::text_of(const toml::node& node, std::string_view key) const {
  const auto value = node.value_exact<std::string>();
  if (!value) fail(line_of(node), "'{}' must be text in quotes, got {}", key, kind_of(node));
  return *value;
}

const toml::node& TomlReader::required(const toml::table& table, const char* key,
                                       std::string_view where) const {
  const toml::node* node = table.get(key);
  // The root has no line of its own.
  if (!node) fail(std::max<toml::source_index>(1, line_of(table)), "{} must have '{}'", where, key);
  return *node;
}

TextAtLine TomlReader::required_text(const toml::table& table, const char* key,
                                     std::string_view where) const {
  const toml::node& node = required(table, key, where);
  return {text_of(node, key), line_of(node)};
}

std::string TomlReader::required_date(const toml::table& table, const char* key,
                                      std::string_view where) const {
  const toml::node& node = required(table, key, where);
  const auto date = node.value_exact<toml::date>();
  if (!date) {
    fail(line_of(node), "'{}' must be a date like 2026-11-16, without quotes, got {}", key,
         kind_of(node));
  }
  return fmt::format("{:04}-{:02}-{:02}", date->year, int{date->month}, int{date->day});
}

std::int64_t TomlReader::integer_of(const toml::node& node, std::string_view key, std::int64_t low,
                                    std::int64_t high) const {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < low || *value > high) {
    fail(line_of(node), "'{}' must be a whole number in {}..{}, got {}", key, low, high,
         value ? std::to_string(*value) : kind_of(node));
  }
  return *value;
}

bool TomlReader::flag_of(const toml::node& node, std::string_view key) const {
  const auto value = node.value_exact<bool>();
  if (!value) fail(line_of(node), "'{}' must be true or false, got {}", key, kind_of(node));
  return *value;
}

std::vector<TextAtLine> TomlReader::required_texts(const toml::table& table, const char* key,
                                                   std::string_view where) const {
  const toml::node& node = required(table, key, where);
  const toml::array* array = node.as_array();
  if (!array || array->empty()) {
    fail(line_of(node), "'{}' must be a list with at least one name, got {}", key,
         array ? "an empty one" : kind_of(node));
  }
  std::vector<TextAtLine> values;
  for (const toml::node& entry : *array) values.push_back({text_of(entry, key), line_of(entry)});
  return values;
}

const toml::table* TomlReader::table_of(const toml::table& table, const char* key) const {
  const toml::node* node = table.get(key);
  if (!node) return nullptr;
  if (!node->is_table()) {
    fail(line_of(*node), "'{}' must be a table, got {}", key, kind_of(*node));
  }
  return node->as_table();
}

std::vector<const toml::table*> TomlReader::required_tables(const toml::table& table,
                                                            const char* key) const {
  const toml::node* node = table.get(key);
  if (!node) fail(1, "there must be at least one [[{}]]", key);
  if (!node->is_array_of_tables()) {
    fail(line_of(*node), "'{0}' must be tables written [[{0}]], got {1}", key, kind_of(*node));
  }
  std::vector<const toml::table*> tables;
  for (const toml::node& entry : *node->as_array()) tables.push_back(entry.as_table());
  return tables;
}

}  // namespace bridgemark
