#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/io/csv.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// What the categories of a column are to each other. Those that have an order or count move to
// their neighbours, by a Gaussian reference; the others to any other alike, by a uniform one.
enum class ColumnKind { kOrdered, kUnordered, kCount, kBinary };

// "ordered", "unordered", "count" or "binary".
std::string_view column_kind_name(ColumnKind kind);
std::optional<ColumnKind> column_kind_of(std::string_view name);
bool has_order(ColumnKind kind);

// Of numbers, unless a column asks for others.
inline constexpr int kDefaultBins = 32;

// A column of a table as categories: texts, or numbers that fall into bins, and one more where a
// field may be missing.
struct TableColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kUnordered;
  std::vector<std::string> values;  // a category each, in their order; empty where it has numbers
  std::vector<double> edges;        // between bins, rising: a number on an edge is above it
  std::vector<double> levels;       // what each bin is written as, one more than edges
  bool has_missing = false;         // then that is the last category
  double gamma = 0.0;               // of the reference

  bool is_numeric() const { return values.empty(); }
  int num_values() const;  // categories but for the missing one
  int num_categories() const { return num_values() + (has_missing ? 1 : 0); }

  // Throws InvalidArgument that names the column where its parts do not fit each other.
  void check() const;

  // The category of a field; nothing where it has none. A number may lie outside of the bins, and
  // is the value that is the same number: 1.0 where 1 is one.
  std::optional<std::int32_t> category_of(const CsvField& field) const;

  // The field that a category is written as.
  CsvField field_of(std::int32_t category) const;

  // What category_of() asks for, for messages.
  std::string allowed() const;

  // Missing fields of a column with an order come and go from any of its values, as often as the
  // categories of a binary column with the proposed gamma change.
  ReferenceProcess reference(int total_steps) const;
};

// The number that a text is, with spaces around it or none; nothing for any other and for an
// infinite one.
std::optional<double> number_of(std::string_view text);

// The shortest text that is this number: 1 for 1.0.
std::string number_text(double number);

}  // namespace bridgemark
