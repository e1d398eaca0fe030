#include "bridgemark/solver/run/run_contestant.h"

#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/pair/two_way_bridge.h"
#include "bridgemark/solver/core/reverse_coupling.h"
#include "bridgemark/solver/core/training_data.h"

namespace bridgemark {

namespace {

constexpr std::uint64_t kFreshSalt = 0x66726573;  // far from the seeds of a training's own draws

std::string option_of(const RunConfig& config, const char* key) {
  const auto found = config.options.find(key);
  return found == config.options.end() ? std::string() : found->second;
}

// The rows of the files that the solver read in place of the problem's, where it did.
void take_files(const RunConfig& config, DataContestant& contestant) {
  const std::string x0 = option_of(config, kDataOptions[0]),
                    x1 = option_of(config, kDataOptions[1]);
  if (x0.empty() && x1.empty()) return;
  if (!x1.empty()) contestant.trained_on_endless_draws = false;
  try {
    if (!x0.empty()) contestant.training_x0 = load_states(x0);
    if (!x1.empty()) contestant.training_x1 = load_states(x1);
  } catch (const FileError& error) {
    contestant.training_x0 = contestant.training_x1 = {};
    contestant.no_rows = fmt::format("its training rows cannot be read: {}", error.what());
  }
}

void take_reverse(const Context& context, const FitProblem& trained, DataContestant& contestant) {
  try {
    contestant.reverse = learned_reverse(context, trained, contestant.coupling);
  } catch (const InvalidArgument& error) {
    contestant.no_reverse = error.what();
  }
}

}  // namespace

DataContestant run_contestant(const Context& context, std::string name, const RunConfig& config,
                              const FitProblem& problem, std::shared_ptr<const Coupling> coupling,
                              std::size_t fresh_rows) {
  DataContestant contestant{
      .name = std::move(name), .coupling = std::move(coupling), .reference = problem.reference()};
  const FitProblem trained = trained_problem(context, config, problem);
  if (const DataEnds* ends = trained.data()) {
    contestant.training_x0 = ends->x0.states();
    contestant.training_x1 = ends->x1.states();
  } else {
    const std::uint64_t seed = derive_seed(config.seed, kFreshSalt);
    contestant.training_x0 = trained.sample_x0(context.on_host(), fresh_rows, seed);
    contestant.training_x1 = trained.sample_x1(context.on_host(), fresh_rows, seed);
    contestant.trained_on_endless_draws = true;
  }
  take_files(config, contestant);
  take_reverse(context, trained, contestant);
  // Its objective is that of the bridge which answers.
  if (const auto* both = dynamic_cast<const TwoWayBridge*>(contestant.coupling.get())) {
    contestant.coupling = both->forward();
  }
  return contestant;
}

}  // namespace bridgemark
