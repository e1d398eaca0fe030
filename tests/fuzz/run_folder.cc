#include "bridgemark/experiment/results.h"

#include <nlohmann/json.hpp>
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/solver/core/diagnostics_json.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/run/run_files.h"
#include "bridgemark/solver/run/run_identity.h"
#include "bridgemark/solver/run/run_result.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tiny_pair.h"

// What a run's folder says of itself, config.toml, result.json and its scores, beside a model.
void bridgemark::fuzz::read(std::string_view bytes) {
  const std::vector<std::string_view> files = split(bytes, 3);
  put(kRunConfig, files[0]);
  put(kRunResult, files[1]);
  put(kRunScores, files[2]);
  put(kRunReverseScores, files[2]);
  put(kRunModel, "");
  attempt([] { read_diagnostics(load_run_result(folder()).at("diagnostics")); });
  attempt([] { read_run_results("x", {}, folder()); });
  attempt([] { read_run_results("x", {.both_directions = true}, folder()); });
  attempt([] { refuse_other_identity(run_identity(pair_record(tiny_pair()), {}), folder()); });
  attempt([] { load_run({.num_threads = 1}, tiny_pair(), folder()); });
  load_whole_run({.num_threads = 1}, folder());
}
