#include "bridgemark/pair/table/schema_file.h"

#include <set>
#include <sstream>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/toml_reader.h"

namespace bridgemark {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 24;

double number_at(const TomlReader& reader, const toml::node& node, std::string_view key) {
  if (const auto number = node.value<double>(); number && node.is_number()) return *number;
  reader.fail(TomlReader::line_of(node), "'{}' must be a number, got {}", key,
              TomlReader::kind_of(node));
}

const toml::array& list_at(const TomlReader& reader, const toml::node& node, std::string_view key) {
  if (const toml::array* list = node.as_array()) return *list;
  reader.fail(TomlReader::line_of(node), "'{}' must be a list, got {}", key,
              TomlReader::kind_of(node));
}

ColumnRequest read_column(const TomlReader& reader, const toml::table& table) {
  reader.expect_keys(table, "column",
                     {"name", "kind", "bins", "values", "edges", "levels", "missing", "gamma"});
  ColumnRequest column;
  column.name = reader.required_text(table, "name", "column").first;
  const auto numbers = [&](const char* key) {
    std::vector<double> found;
    if (const toml::node* node = table.get(key)) {
      for (const toml::node& entry : list_at(reader, *node, key)) {
        found.push_back(number_at(reader, entry, key));
      }
    }
    return found;
  };
  if (const toml::node* node = table.get("kind")) {
    const std::string name = reader.text_of(*node, "kind");
    column.kind = column_kind_of(name);
    if (!column.kind) {
      reader.fail(TomlReader::line_of(*node),
                  "'kind' must be ordered, unordered, count or binary, got '{}'", name);
    }
  }
  if (const toml::node* node = table.get("bins")) {
    column.bins = static_cast<int>(reader.integer_of(*node, "bins", 2, kMaxFactoredTable));
  }
  if (const toml::node* node = table.get("values")) {
    for (const toml::node& entry : list_at(reader, *node, "values")) {
      column.values.push_back(reader.text_of(entry, "values"));
    }
  }
  column.edges = numbers("edges");
  column.levels = numbers("levels");
  if (const toml::node* node = table.get("missing")) {
    column.has_missing = reader.flag_of(*node, "missing");
  }
  if (const toml::node* node = table.get("gamma")) {
    column.gamma = number_at(reader, *node, "gamma");
  }
  return column;
}

toml::array list_of(const auto& values) {
  toml::array list;
  for (const auto& value : values) list.push_back(value);
  return list;
}

}  // namespace

ColumnsAsked parse_columns(std::string_view text, const std::string& file) {
  const TomlReader reader(file, text);
  reader.expect_keys(reader.root(), "the file", {"column", "steps"});
  ColumnsAsked found;
  std::set<std::string> seen;
  for (const toml::table* table : reader.required_tables(reader.root(), "column")) {
    found.columns.push_back(read_column(reader, *table));
    if (!seen.insert(found.columns.back().name).second) {
      reader.fail(TomlReader::line_of(*table), "names of columns must differ, got '{}' twice",
                  found.columns.back().name);
    }
  }
  if (const toml::node* node = reader.root().get("steps")) {
    found.total_steps = static_cast<int>(reader.integer_of(*node, "steps", 1, kMaxTotalSteps));
  }
  return found;
}

ColumnsAsked load_columns(const std::string& file, const CsvTable& table) {
  if (file == "auto") return {requests_for_all(table)};
  return parse_columns(read_file(file, kMaxBytes), file);
}

std::string schema_text(const TableSchema& schema) {
  toml::array columns;
  for (const TableColumn& column : schema.columns) {
    toml::table table{{"name", column.name},
                      {"kind", std::string(column_kind_name(column.kind))},
                      {"missing", column.has_missing},
                      {"gamma", column.gamma}};
    if (column.is_numeric()) {
      table.insert("edges", list_of(column.edges));
      table.insert("levels", list_of(column.levels));
    } else {
      table.insert("values", list_of(column.values));
    }
    columns.push_back(std::move(table));
  }
  const toml::table whole{{"column", columns}, {"steps", schema.total_steps}};
  std::ostringstream text;
  text << whole << '\n';
  return text.str();
}

TableSchema load_schema(const std::filesystem::path& path) {
  return parse_schema(read_file(path, kMaxBytes), path.string());
}

TableSchema parse_schema(std::string_view text, const std::string& file) {
  const ColumnsAsked found = parse_columns(text, file);
  TableSchema schema{{}, found.total_steps.value_or(kDefaultTotalSteps)};
  for (const ColumnRequest& column : found.columns) {
    const bool whole = column.kind && column.gamma && column.has_missing &&
                       column.values.empty() != column.levels.empty();
    if (!whole) throw_file(file, "column '{}' must have all of its parts", column.name);
    schema.columns.push_back({column.name, *column.kind, column.values, column.edges, column.levels,
                              *column.has_missing, *column.gamma});
    try {
      schema.columns.back().check();
    } catch (const InvalidArgument& error) {
      throw_file(file, "{}", error.what());
    }
  }
  try {
    schema.reference();
  } catch (const InvalidArgument& error) {
    throw_file(file, "{}", error.what());
  }
  return schema;
}

}  // namespace bridgemark
