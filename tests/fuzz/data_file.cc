#include "bridgemark/solver/run/data_file.h"

#include "tests/fuzz/fuzz.h"

// data.safetensors: the rows that a run was fitted to, and their reference.
void bridgemark::fuzz::read(std::string_view bytes) {
  const FitProblem problem = load_data(put("data.safetensors", bytes));
  same_data(problem, problem);
}
