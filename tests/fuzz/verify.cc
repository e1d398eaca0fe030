#include "bridgemark/verify/verification.h"

#include "tests/fuzz/fuzz.h"

// A file of reference values, which are recomputed.
void bridgemark::fuzz::read(std::string_view bytes) {
  verify_file({.num_threads = 1}, put("golden.safetensors", bytes));
}
