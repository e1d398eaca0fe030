#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/labels.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/own_data/data_contestant.h"
#include "bridgemark/metric/own_data/data_score.h"
#include "bridgemark/metric/own_data/row_distance.h"

// Samplers compared on rows that they were not trained on, where there is no truth.
namespace bridgemark {

// How a comparison draws.
struct DataComparisonOptions {
  std::uint64_t seed = 0;
};

// What one sampler shows.
struct ContestantScores {
  std::string name;
  std::string reference;                                   // in words; empty: not known
  std::size_t training_x0_rows = 0, training_x1_rows = 0;  // 0: not known, or endless draws
  bool trained_on_endless_draws = false;
  bool rows_have_all_labels = false;  // its training rows, where the given ones have one label
  std::optional<RowOverlap> x0_overlap = {}, x1_overlap = {};  // none without training rows
  std::vector<DataScore> scores;  // those of data_score_specs(), in their order
  States draws;                   // x1 for each given row of x0

  const DataScore& score(std::string_view wanted) const;
};

// first - second of two held-out objectives: positive where `first` is nearer to the bridge.
struct ContestantDifference {
  std::string first, second;
  MeanEstimate difference;  // mean NaN: cannot be given, `missing` says why
  std::string missing = {};

  // Whether the difference exceeds two of its standard errors.
  bool told_apart() const;
};

struct LabelComparison;

// All of them, with what a reader must be warned of.
struct DataComparison {
  std::size_t x0_rows = 0, x1_rows = 0, dim = 0;
  int num_categories = 0;
  std::uint64_t seed = 0;
  // Draws, and training rows of the ceilings, that are compared with held-out rows: as many of
  // each, and of every sampler.
  std::size_t compared_rows = 0;
  std::vector<ContestantScores> contestants;
  std::vector<ContestantDifference> differences;  // each two of those with an objective
  std::vector<std::string> warnings;              // what makes a number say less than it seems to
  // Of rows with labels (compare_by_label.h): that of each label, of which this one is the mean.
  std::vector<LabelComparison> labels;
};

// The comparison on the rows of a label.
struct LabelComparison {
  Label label = 0;
  DataComparison comparison;
};

// Scores each on rows x0 [n,D] and x1 [m,D], unpaired and held out. All draws are functions of the
// seed, the same on any number of threads. Throws InvalidArgument for no samplers, equal names,
// samplers of different spaces, and rows that are none of that space.
DataComparison compare_on(const Context& context, StatesView x0, StatesView x1,
                          std::span<const DataContestant> contestants,
                          const DataComparisonOptions& options = {});

}  // namespace bridgemark
