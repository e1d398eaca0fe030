#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "bridgemark/bridge/column_bridge.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/held_out_objective.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/core/option_spec.h"
#include "bridgemark/solver/core/options.h"
#include "bridgemark/solver/core/solver.h"
#include "bridgemark/solver/core/training_loop.h"
#include "bridgemark/solver/table/column_loss.h"

// DLightSB for tables: the static loss of a CP potential over columns of their own.
namespace bridgemark {

// The keys of dlightsb that go with columns of their own.
std::vector<OptionSpec> column_options();

// A training on rows of both ends. Some are kept apart: it keeps the parameters that have the
// highest held-out objective on these, and is at its end when nothing is gained any more. Where the
// number of components is left to it, several are trained one after the other, from the start each.
class ColumnModel : public Trainable {
 public:
  ColumnModel(const Context& context, const ColumnReference& reference, const States& x0,
              const States& x1, const SolverOptions& options, std::uint64_t seed);

  void updates(std::int64_t first, std::span<double> losses) override;
  bool finished() const override { return at_ == sizes_.size(); }
  std::int64_t updates_at_once() const override { return 1; }

  // The most updates that all sizes may take.
  std::int64_t most_updates() const { return planned_ * std::ssize(sizes_); }
  TrainingStage stage(std::int64_t update) const override;
  void save_state(SafetensorsWriter& writer) const override;
  void load_state(const SafetensorsFile& file) override;

  ColumnBridge bridge() const;
  Diagnostics diagnostics() const;

 private:
  struct Parameters {
    std::vector<float> log_beta, log_cores;  // [K], [total_categories, K]
  };

  bool is_held_out() const { return !holdout_.empty(); }
  void begin(std::size_t components);
  Parameters start(std::size_t components) const;
  ColumnBridge bridge_of(const Parameters& parameters) const;
  void look();

  Context context_;
  ColumnReference reference_;
  ColumnLoss loss_;
  Holdout holdout_;
  std::uint64_t seed_;
  std::size_t batch_size_;
  std::int64_t planned_;
  double learning_rate_;
  int patience_;
  std::vector<std::size_t> sizes_;  // numbers of components to train, the present one at_
  std::size_t at_ = 0;
  Parameters parameters_, first_, second_, best_;
  std::int64_t made_ = 0, best_update_ = 0;  // of the present size, and of the best of all
  int stale_ = 0;
  double size_value_ = 0.0;                     // the highest objective of the present size
  double best_value_ = 0.0, best_error_ = 0.0;  // of the best of all
  mutable std::vector<double> position_;        // of a checkpoint in writing
};

}  // namespace bridgemark
