#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "bridgemark/core/rank_group.h"
#include "bridgemark/solver/core/solver.h"
#include "bridgemark/solver/core/training_loop.h"

namespace bridgemark {

// A model in training and the coupling that it is at the update it has come to.
class TrainedModel : public Trainable {
 public:
  virtual std::shared_ptr<const Coupling> coupling() const = 0;

  // The most updates of a training whose plan has this many for one model: more where it tries
  // models of several sizes.
  virtual std::int64_t most_updates(std::int64_t planned) const { return planned; }

  // What it has to say of itself beyond the training's own diagnostics: a "warning" among it is
  // shown to whoever started the training, and "updates" are those of the model that is kept, where
  // the training tried several.
  virtual Diagnostics diagnostics() const { return {}; }

  // The file of the whole model, written by the ranks that share it together.
  virtual void save_shared(RankGroup& ranks, const std::filesystem::path& path) const;
};

// What result.json says of a training: its updates, loss and seconds, and what the model says of
// itself. Where several models were tried, "updates" are those of the one that is kept and
// "updates_in_all" those of all; "resumed_from" is there where the training was resumed.
Diagnostics training_diagnostics(const TrainingSummary& summary, Diagnostics of_model);

// A solver whose coupling comes out of the training loop. Options are resolved where they come in.
class TrainedSolver : public Solver {
 public:
  Fitted fit(const Context& context, const FitProblem& problem, const SolverOptions& options,
             std::uint64_t seed, const TrainingFiles& files) const final;

  // The model at its start, which trains on the context's device. Starts and tables are made with
  // `host`, the same context on the CPU, so that they are the same on every machine.
  virtual std::unique_ptr<TrainedModel> make_model(const Context& context, const Context& host,
                                                   const FitProblem& problem,
                                                   const SolverOptions& options,
                                                   std::uint64_t seed) const = 0;

 protected:
  // What a fit ends with, made of the coupling in which the training ended.
  virtual std::shared_ptr<const Coupling> completed(const Context&, const FitProblem&,
                                                    const SolverOptions&, std::uint64_t,
                                                    std::shared_ptr<const Coupling> trained) const {
    return trained;
  }

  virtual TrainingPlan training_plan(const SolverOptions& options) const = 0;
};

}  // namespace bridgemark
