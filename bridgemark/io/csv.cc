#include "bridgemark/io/csv.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/utf8.h"
#include "bridgemark/io/disk/atomic_file.h"

namespace bridgemark {

namespace {

constexpr std::size_t kMaxCsvBytes = std::size_t{1} << 30;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::array<std::string_view, 5> kMissing = {"", "NA", "NaN", "nan", "null"};

// Takes one row after the other.
class CsvRows {
 public:
  CsvRows(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  bool done() const { return at_ == text_.size(); }
  std::size_t line() const { return line_; }

  std::vector<CsvField> row() {
    std::vector<CsvField> fields;
    do {
      fields.push_back(field());
    } while (take(','));
    if (!done() && !take_line_end()) {
      fail("a field must end with a comma or the line after its closing quote, got '{}'",
           text_[at_]);
    }
    return fields;
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw_file(file_, "line {}: {}", line_, fmt::format(format, std::forward<Args>(args)...));
  }

  bool take(char wanted) {
    if (done() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  // \n, \r\n or \r.
  bool take_line_end() {
    const bool carriage = take('\r');
    if (!take('\n') && !carriage) return false;
    ++line_;
    return true;
  }

  CsvField field() {
    if (take('"')) return {quoted(), true};
    const std::size_t first = at_;
    while (!done() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r') {
      if (text_[at_] == '"') fail("a quote must open its field or be doubled within one");
      ++at_;
    }
    return {std::string(text_.substr(first, at_ - first)), false};
  }

  // What follows an opening quote, up to the one that closes it.
  std::string quoted() {
    const std::size_t opened = line_;
    std::string value;
    while (!done()) {
      const char next = text_[at_++];
      if (next == '"' && !take('"')) return value;
      if (next == '\n') ++line_;
      value += next;
    }
    throw_file(file_, "line {}: the quote that opens here is never closed", opened);
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0, line_ = 1;
};

void require_utf8(std::string_view text, const std::string& file) {
  std::size_t line = 1;
  for (std::size_t i = 0; i < text.size();) {
    char32_t character = 0;
    const std::size_t bytes = utf8_character(text.substr(i), character);
    if (bytes == 0 || character == 0) throw_file(file, "line {}: the text must be UTF-8", line);
    if (character == U'\n') ++line;
    i += bytes;
  }
}

// The names of the first row.
std::vector<std::string> header(std::vector<CsvField> fields, const std::string& file) {
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  for (CsvField& field : fields) names.push_back(std::move(field.text));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) {
      throw_file(file, "line 1: each column must have a name, got none for column {}", i + 1);
    }
    if (!seen.insert(names[i]).second) {
      throw_file(file, "line 1: names of columns must differ, got '{}' twice", names[i]);
    }
  }
  return names;
}

std::string field_text(const CsvField& field) {
  const bool plain = !field.quoted && field.text.find_first_of(",\"\n\r") == std::string::npos;
  if (plain) return field.text;
  std::string quoted = "\"";
  for (const char c : field.text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

bool CsvField::is_missing() const {
  return !quoted && std::ranges::find(kMissing, std::string_view(text)) != kMissing.end();
}

std::size_t CsvTable::column(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    throw_file(file, "it must have a column '{}', its columns are {}", name,
               fmt::join(names, ", "));
  }
  return static_cast<std::size_t>(found - names.begin());
}

CsvTable parse_csv(std::string_view text, std::string file) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvTable table{std::move(file), {}, {}, {}};
  require_utf8(text, table.file);
  if (text.empty()) throw_file(table.file, "it must begin with the names of its columns, got none");
  CsvRows rows(text, table.file);
  table.names = header(rows.row(), table.file);
  std::size_t blank = 0;  // a line without fields, allowed at the end
  while (!rows.done()) {
    const std::size_t line = rows.line(), width = table.names.size();
    std::vector<CsvField> fields = rows.row();
    if (width > 1 && fields == std::vector<CsvField>(1)) {
      if (blank == 0) blank = line;
      continue;
    }
    if (blank > 0)
      throw_file(table.file, "line {}: a row must have {} fields, got none", blank, width);
    if (fields.size() != width) {
      throw_file(table.file, "line {}: a row must have {} fields, got {}", line, width,
                 fields.size());
    }
    table.rows.push_back(std::move(fields));
    table.lines.push_back(line);
  }
  return table;
}

CsvTable load_csv(const std::filesystem::path& path) {
  return parse_csv(read_file(path, kMaxCsvBytes), path.string());
}

bool is_csv(const std::string& path) { return path.ends_with(".csv"); }

std::string csv_text(const CsvTable& table) {
  std::string text;
  const auto add_row = [&](const auto& fields, auto&& text_of) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) text += ',';
      text += text_of(fields[i]);
    }
    text += '\n';
  };
  add_row(table.names, [](const std::string& name) {
    return field_text({name, name.starts_with(kByteOrderMark)});
  });
  for (const auto& row : table.rows) add_row(row, field_text);
  return text;
}

}  // namespace bridgemark
