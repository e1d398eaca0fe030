#include "bridgemark/core/error.h"
#include "bridgemark/solver/registry.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tiny_pair.h"

// checkpoint.safetensors: the first byte says whose, and a training goes on from the rest.
void bridgemark::fuzz::read(std::string_view bytes) {
  struct Training {
    const char* solver;
    std::vector<const char*> options;
  };
  static const Training kTrainings[] = {
      {"dlightsb", {"updates=2", "components=2", "batch_size=2", "log_every=1"}},
      {"dlightsb-m", {"updates=2", "components=2", "batch_size=2", "num_steps=2"}},
      {"dlightsb-chain", {"updates=2", "states=2", "batch_size=2"}},
      {"csbm",
       {"updates_first=1", "imf_iterations=1", "batch_size=2", "num_steps=2", "hidden=3",
        "embedding_size=2", "initial=independent"}},
      {"dlightsb-tree", {"updates=2", "states=2", "batch_size=2"}}};
  if (bytes.empty()) return;
  const Training& training = kTrainings[static_cast<unsigned char>(bytes[0]) % 5];
  const Solver& solver = find_solver(training.solver);
  SolverOptions options(solver.options());
  for (const char* assignment : training.options) options.set_assignment(assignment);
  solver.resolve(options);
  const std::filesystem::path path = put("checkpoint.safetensors", bytes.substr(1));
  solver.fit({.num_threads = 1}, tiny_pair(), options, 1, {path, folder() / "log.jsonl", {}});
}
