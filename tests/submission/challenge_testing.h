#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bridgemark/solver/registry.h"
#include "bridgemark/submission/challenge/challenge.h"
#include "bridgemark/submission/challenge/check_challenge.h"
#include "bridgemark/submission/challenge/commitment.h"
#include "bridgemark/submission/challenge/reveal.h"
#include "tests/submission/submission_testing.h"

namespace bridgemark::testing {

inline std::shared_ptr<const Coupling> fit_quickly(const BenchmarkPair& pair,
                                                   const TrainingRows& rows) {
  const Solver& solver = find_solver("dlightsb");
  SolverOptions options(solver.options());
  for (const char* set : {"updates=150", "components=4", "batch_size=128"}) {
    options.set_assignment(set);
  }
  solver.resolve(options);
  return solver.fit({}, training_problem({}, pair, rows), options, 5).coupling;
}

// A solver that keeps its probabilities to itself.
class DrawsOf : public StayPut {
 public:
  explicit DrawsOf(std::shared_ptr<const Coupling> law) : law_(std::move(law)) {}
  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first,
              MutableStatesView x1) const override {
    law_->sample(context, x0, key, first, x1);
  }

 private:
  std::shared_ptr<const Coupling> law_;
};

// A challenge on one preset and a solver called Mine, of two files.
class ChallengeFolder {
 public:
  std::filesystem::path path(const std::string& name) const { return dir_.path() / name; }
  std::filesystem::path challenge() const { return path("challenge"); }
  ChallengeEntry entry() const {
    return {challenge(), path("mine"), path("secret.json"), path("solver")};
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }

  static Challenge asked() {
    return {.pairs = {kBoardPair},
            .instances = 2,
            .closes = "2027-03-01 12:00 UTC",
            .value_from = "the lottery of the day after"};
  }

  void begin(const Challenge& challenge_asked = asked()) const {
    write_challenge(challenge_asked, challenge());
    std::filesystem::create_directory(path("solver"));
    write("solver/solver.py", "print('learn')\n");
    write("solver/config.toml", "updates = 150\n");
    commit("Mine", "secret.json");
  }

  Commitment commit(const std::string& label, const std::string& secret) const {
    return commit_solver(challenge(), label, {path("solver/solver.py"), path("solver/config.toml")},
                         path(secret));
  }

  // A submission of Mine with answers to a pair.
  void answer(const std::string& folder, const RevealedInstance& instance, std::uint64_t seed,
              const Coupling& coupling, double seconds = 1.5) const {
    const bool is_new = !std::filesystem::exists(path(folder));
    evaluate_to({}, load_pair(instance.pair), coupling, {.seed = seed},
                {.submission = path(folder),
                 .label = "Mine",
                 .rows = instance.rows,
                 .training_seed = seed,
                 .training_seconds = seconds});
    if (is_new) fill_blanks(path(folder));
  }

 private:
  TempDir dir_;
};

}  // namespace bridgemark::testing
