#include "bridgemark/solver/registry.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tiny_pair.h"

// model.safetensors of a run, for each solver that keeps parameters.
void bridgemark::fuzz::read(std::string_view bytes) {
  const std::filesystem::path path = put("model.safetensors", bytes);
  const Context context{.num_threads = 1};
  for (const char* solver :
       {"dlightsb", "dlightsb-chain", "dlightsb-tree", "csbm", "feature-wise", "sinkhorn"}) {
    attempt([&] {
      const auto coupling = find_solver(solver).load(context, tiny_pair(), path);
      const States x0 = tiny_pair().test_set(context).x0;
      States x1(x0.rows(), x0.cols());
      coupling->sample(context, x0, {1, DrawPurpose::kPrediction}, 0, x1);
    });
  }
}
