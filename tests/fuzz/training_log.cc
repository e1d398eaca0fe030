#include "bridgemark/solver/core/training_log.h"

#include "tests/fuzz/fuzz.h"

// log.jsonl of a training.
void bridgemark::fuzz::read(std::string_view bytes) { read_training_log(put("log.jsonl", bytes)); }
