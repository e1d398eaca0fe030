#include "bridgemark/experiment/experiment.h"

#include "tests/fuzz/fuzz.h"

// An experiment file.
void bridgemark::fuzz::read(std::string_view bytes) { load_experiment(put("x.toml", bytes)); }
