#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace bridgemark {

// A field of a row. One that is quoted is text, whatever it says: "NA" is no missing value.
struct CsvField {
  std::string text;
  bool quoted = false;

  // Nothing, or one of NA, NaN, nan and null, without quotes.
  bool is_missing() const;

  bool operator==(const CsvField&) const = default;
};

// A table of comma-separated values with the names of its columns in the first line. Fields may be
// quoted as RFC 4180 says, and then hold commas, doubled quotes and line ends.
struct CsvTable {
  std::string file;  // what messages call it
  std::vector<std::string> names;
  std::vector<std::vector<CsvField>> rows;  // each as long as names
  std::vector<std::size_t> lines;           // where each row begins

  // The place of a column; throws FileError with the names that there are.
  std::size_t column(std::string_view name) const;
};

// Throws FileError with the line of what is no such table: no header, an empty or doubled name, a
// row of another length, text beside a closing quote, a quote that is never closed, bytes that are
// no UTF-8. A byte-order mark and lines of one empty field at the end are passed over.
CsvTable parse_csv(std::string_view text, std::string file);
CsvTable load_csv(const std::filesystem::path& path);

// Whether the file of this name is a table by its ending, .csv.
bool is_csv(const std::string& path);

// The text of a table; what parse_csv() reads from it is the same.
std::string csv_text(const CsvTable& table);

}  // namespace bridgemark
