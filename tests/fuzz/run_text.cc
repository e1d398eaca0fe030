#include "bridgemark/experiment/make_run.h"

#include "tests/fuzz/fuzz.h"

// The JSON by which a grid hands a run to its process.
void bridgemark::fuzz::read(std::string_view bytes) { run_text(parse_run(std::string(bytes))); }
