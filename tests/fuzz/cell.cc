#include "bridgemark/experiment/cell.h"

#include "tests/fuzz/fuzz.h"

// The JSON by which a grid hands a run to its process.
void bridgemark::fuzz::read(std::string_view bytes) { cell_text(parse_cell(std::string(bytes))); }
