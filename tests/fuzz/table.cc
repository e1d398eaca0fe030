#include <cstdlib>

#include "bridgemark/io/csv.h"
#include "tests/fuzz/fuzz.h"

// A table: what is read from the text that it is written as is the same table.
void bridgemark::fuzz::read(std::string_view bytes) {
  const CsvTable table = parse_csv(bytes, "table.csv");
  const CsvTable again = parse_csv(csv_text(table), "table.csv");
  if (again.names != table.names || again.rows != table.rows) std::abort();
}
