#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bridgemark/bridge/column_bridge.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/held_out_objective.h"
#include "bridgemark/metric/own_data/compare_on.h"
#include "bridgemark/metric/own_data/data_contestant.h"
#include "bridgemark/metric/own_data/marginal_fit.h"

namespace bridgemark {

MeanEstimate no_estimate();  // NaN

// `count` of n rows in a drawn order, all of them where count is no less.
States drawn_rows(StatesView rows, std::size_t count, std::uint64_t seed);

// Scores one sampler after another on the same rows. Samplers are asked on the context's device,
// the rest is the host's.
class ContestantJudge {
 public:
  // Borrows x0 and x1. compared_rows: of draws and of training rows, at most those of x0.
  ContestantJudge(const Context& context, StatesView x0, StatesView x1, std::size_t compared_rows,
                  std::uint64_t seed);

  // `objective` without values: it is no bridge. `bridge`: the one that its paths are held against,
  // null where there is none.
  ContestantScores judge(const DataContestant& contestant, const HeldOutObjective& objective,
                         const DataContestant* bridge);

 private:
  // A classifier's AUC beside it.
  struct Fit {
    MarginalFit marginals;
    DataScore auc;
  };

  // What training rows say of held-out rows; kept, as runs often share their training rows.
  struct Ceiling {
    States training_x0, training_x1;
    Fit x1;
    MarginalFit x0;
    std::vector<double> nearest_changed, nearest_moved;  // of held-out x1; moved where ordered
  };

  const Ceiling* ceiling_of(const DataContestant& contestant);
  Fit fit_of_x1(const States& rows) const;
  std::size_t cycle_rows() const;
  bool ordered(const DataContestant& contestant) const;

  std::vector<double> log_ratios(const ColumnBridge& bridge, StatesView draws) const;
  void add_objective(const HeldOutObjective& objective, ContestantScores& scores) const;
  void add_fit(const Fit& own, const Ceiling* ceiling, ContestantScores& scores) const;
  void add_memory(const DataContestant& contestant, const Ceiling* ceiling,
                  ContestantScores& scores) const;
  void add_cost(const DataContestant& contestant, ContestantScores& scores) const;
  void add_paths(const DataContestant& contestant, const DataContestant* bridge,
                 ContestantScores& scores) const;
  void add_cycle(const DataContestant& contestant, const Ceiling* ceiling,
                 ContestantScores& scores) const;

  const Context& context_;
  StatesView x0_, x1_;
  std::size_t compared_rows_;
  std::uint64_t seed_;
  int num_categories_ = 0;
  std::vector<Ceiling> ceilings_;
};

}  // namespace bridgemark
