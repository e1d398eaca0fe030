#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/metric/own_data/compare_on.h"
#include "bridgemark/pair/data_problem.h"

// What gamma changes on own data: a bridge fitted at each of several, and what it does.
namespace bridgemark {

// How far the reference alone leads (movement_share) at the gammas that are scanned by default; one
// of them is that of the proposed gamma.
inline constexpr double kScannedShares[] = {0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95};

// Draws fit x1 where their shape is within this of what training rows reach.
inline constexpr double kFitSlack = 0.05;

// The solver of a scan and what is set where it is asked for nothing: quick, and near enough to
// see what gamma does.
inline constexpr char kScanSolver[] = "dlightsb";
inline constexpr const char* kQuickSettings[] = {"components=32", "updates=500", "refit=no",
                                                 "source=none"};

struct GammaScanOptions {
  std::vector<double> gammas = {};  // empty: those of kScannedShares
  std::string solver = kScanSolver;
  std::vector<std::string> settings = {};  // key=value, for dlightsb over kQuickSettings
  double holdout = 0.2;                    // share of the rows that judge and train nothing
  std::uint64_t seed = 0;
};

// The bridge at one gamma.
struct GammaPoint {
  double gamma = 0.0;
  double movement_share = 0.0;       // of the reference alone (gamma_proposal.h)
  MeanEstimate told;                 // told_share(); NaN where it cannot be given
  MeanEstimate conditional_entropy;  // H(x1|x0) in nats; NaN likewise
  double relative_cost = 0.0;        // transport cost over that of unpaired rows; NaN: that is 0
  bool fits = false;                 // whether draws fit x1, within kFitSlack
  ContestantScores scores = {};      // what `evaluate --x0 --x1` says of it
  std::string failure = {};          // why there is no bridge; then only the first two are given
};

struct GammaScan {
  std::string reference;  // "gaussian" or "uniform"
  std::string solver;
  std::vector<std::string> settings;  // all that were set
  std::uint64_t seed = 0;
  std::size_t dim = 0, training_x0_rows = 0, training_x1_rows = 0, x0_rows = 0, x1_rows = 0;
  int num_categories = 0, total_steps = 0;
  double proposed = 0.0;                 // propose_gamma()
  std::vector<GammaPoint> points;        // by gamma
  std::optional<std::size_t> most_told;  // the point that fits at which x0 tells most
  // Where x0 tells half of that: between two neighbours that fit, on a straight line over log
  // gamma.
  std::optional<double> half_told;
  std::vector<std::string> warnings;  // of the bridges
};

// Holds out options.holdout of the rows of either end, fits the solver to the others at each gamma,
// and looks at its draws for the held-out x0. parts.gamma must be empty. Throws InvalidArgument for
// a matrix as reference, gammas that are none of the reference's or fewer than two, and what
// make_data_problem() and the solver refuse; a training that diverges is the failure of its gamma.
GammaScan scan_gamma(const Context& context, DataParts parts, const GammaScanOptions& options = {});

}  // namespace bridgemark
