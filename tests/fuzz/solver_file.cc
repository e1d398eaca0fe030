#include "bridgemark/submission/solver_file.h"

#include "tests/fuzz/fuzz.h"

// solver.toml of a submission, and what is written of it again.
void bridgemark::fuzz::read(std::string_view bytes) {
  put("solver.toml", bytes);
  attempt([] { load_solver_file(folder(), Blanks::kRefused); });
  const SolverFile solver = load_solver_file(folder(), Blanks::kAllowed);
  put("solver.toml", with_predictions(bytes, solver.predictions));
  load_solver_file(folder(), Blanks::kAllowed);
}
