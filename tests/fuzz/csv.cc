#include "bridgemark/experiment/csv_field.h"

#include <cstdlib>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace {

// One line of CSV by the rules of RFC 4180.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

}  // namespace

// Text as a field: it reads back as one field, the same, and never as a formula.
void bridgemark::fuzz::read(std::string_view bytes) {
  const std::string text(bytes);
  const std::vector<std::string> fields = fields_of("a," + csv_field(text) + ",b");
  if (fields.size() != 3 || (fields[1] != text && fields[1] != "'" + text)) std::abort();
  if (!fields[1].empty() && std::string_view("=+-@\t\r").find(fields[1][0]) != std::string::npos) {
    std::abort();
  }
}
