#include "bridgemark/solver/direction/source_density.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/bridge/bridge.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/direction/mixture_em.h"

namespace bridgemark {

namespace {

// Of endless draws: rows that choose, and numbers in the rows that all parameters come from.
constexpr std::size_t kRowsToChoose = 1 << 15;
constexpr std::size_t kNumbersInRows = 1 << 24;
constexpr std::size_t kMostSourceRows = 1 << 18, kMostRowsOfParts = 1 << 16;

constexpr double kShareKeptApart = 0.2;
constexpr double kPseudoRows[] = {0.5, 2.0, 8.0, 32.0, 128.0};
constexpr double kUniformShare = 1e-3;  // of the law of pseudo-rows, where a reference has zeros

constexpr std::size_t kMostParts = 64;
constexpr std::size_t kMostNumbersOfParts = 1 << 19;  // D S J
constexpr std::size_t kRowsAPart = 8;                 // at least
constexpr int kStarts = 3, kStepsOfAStart = 10, kMostSteps = 60;
constexpr double kEnough = 1e-4;        // nats a row that a step must add
constexpr double kErrorsOfAGain = 2.0;  // that more parts must be better by
constexpr int kSizesWithoutGain = 2;    // that end the search

// Rows for each use. Sets that end are used whole in the end.
struct SourceRows {
  States training, apart, all;
};

SourceRows split_set(const States& set) {
  const std::size_t n = set.rows(), D = set.cols();
  const auto share = static_cast<std::size_t>(std::ceil(kShareKeptApart * static_cast<double>(n)));
  const std::size_t apart = std::min(std::max(share, kLeastHoldoutRows), n / 2);
  const auto part = [&](std::size_t first, std::size_t last) {
    return States(last - first, D, {set.row(first), set.row(first) + (last - first) * D});
  };
  return {part(0, n - apart), part(n - apart, n), set};
}

SourceRows draw_rows(const Context& context, const TrainingData& data, std::size_t dim) {
  const std::size_t all = std::clamp(kNumbersInRows / dim, 2 * kRowsToChoose, kMostSourceRows);
  return {data.x0(context, kRowsToChoose, 0), data.x0(context, kRowsToChoose, kRowsToChoose),
          data.x0(context, all, 2 * kRowsToChoose)};
}

// out[to] += sum over from of shares[from] Q[from, to].
void add_moved(const backend::ReferencePower& q, std::vector<double>& shares, double* out) {
  const std::size_t S = shares.size();
  if (const Matrix<double>* const log_q = q.table()) {
    for (std::size_t from = 0; from < S; ++from) {
      if (shares[from] == 0.0) continue;
      for (std::size_t to = 0; to < S; ++to) out[to] += shares[from] * std::exp((*log_q)(from, to));
    }
    return;
  }
  for (double& share : shares) share = std::log(share);
  std::vector<double> log_moved(S);
  q.factors()->log_transport(shares.data(), log_moved.data());
  for (std::size_t s = 0; s < S; ++s) out[s] += std::exp(log_moved[s]);
}

// Where pseudo-rows lie: the rows' categories moved by the reference, [D,S].
Matrix<double> moved_counts(const backend::ReferencePower& q, StatesView rows) {
  const std::size_t D = rows.cols, S = q.num_categories();
  Matrix<double> counts(D, S), base(D, S);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (std::size_t d = 0; d < D; ++d) counts(d, static_cast<std::size_t>(rows(i, d))) += 1.0;
  }
  std::vector<double> shares(S);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) shares[s] = counts(d, s) / static_cast<double>(rows.rows);
    add_moved(q, shares, base.row(d));
    for (std::size_t s = 0; s < S; ++s) {
      base(d, s) = (1.0 - kUniformShare) * base(d, s) + kUniformShare / static_cast<double>(S);
    }
  }
  return base;
}

// How unlikely the reference is to bring a row to another, beside staying.
double distance(const backend::ReferencePower& q, const std::int32_t* from, const std::int32_t* to,
                std::size_t dim) {
  constexpr double kFarthest = 1e3;  // of a coordinate
  double sum = 0.0;
  for (std::size_t d = 0; d < dim; ++d) {
    const double stays = q.log_entry(from[d], from[d]);
    sum += std::clamp(stays - q.log_entry(from[d], to[d]), 0.0, kFarthest);
  }
  return sum;
}

// Parts around rows far apart: each next one in proportion to its distance to the nearest so far.
CpPotential first_parts(const backend::ReferencePower& q, const Matrix<double>& base,
                        StatesView rows, std::size_t parts, std::uint32_t start) {
  const std::size_t D = base.rows(), S = base.cols();
  DrawSequence draws({0, DrawPurpose::kInitialise, start}, parts);
  std::vector<double> nearest(rows.rows, std::numeric_limits<double>::infinity()),
      cumulative(rows.rows), log_near(S);
  Array3<double> log_cores(D, S, parts);
  auto row = static_cast<std::size_t>(draws.uniform() * static_cast<double>(rows.rows));
  for (std::size_t j = 0; j < parts; ++j) {
    double total = 0.0;
    for (std::size_t i = 0; i < rows.rows; ++i) {
      nearest[i] = std::min(nearest[i], distance(q, rows.row(row), rows.row(i), D));
      cumulative[i] = total += nearest[i];
    }
    for (std::size_t d = 0; d < D; ++d) {
      q.log_row(rows(row, d), log_near.data());
      for (std::size_t s = 0; s < S; ++s) {
        log_cores(d, s, j) = std::log(0.5 * std::exp(log_near[s]) + 0.5 * base(d, s));
      }
    }
    if (total > 0.0) row = draw_category(cumulative.data(), rows.rows, draws.uniform());
  }
  return {std::vector<double>(parts, -std::log(static_cast<double>(parts))), std::move(log_cores)};
}

// A law that was tried, and the log-likelihood of each row kept apart.
struct Tried {
  CpPotential density;
  std::vector<double> log_likelihood;
  double pseudo_rows = 0.0;

  double mean() const { return estimate_mean(log_likelihood).mean; }
};

// Whether b is better than a by more than the error of their difference allows for.
bool is_better(const Tried& b, const Tried& a) {
  std::vector<double> gain(a.log_likelihood.size());
  for (std::size_t i = 0; i < gain.size(); ++i) {
    gain[i] = b.log_likelihood[i] - a.log_likelihood[i];
  }
  const MeanEstimate estimate = estimate_mean(gain);
  return estimate.mean > kErrorsOfAGain * estimate.standard_error;
}

class SourceSearch {
 public:
  SourceSearch(const Context& context, const backend::ReferencePower& q, const SourceRows& rows)
      : context_(context), q_(q), rows_(rows), base_(moved_counts(q, rows.training)) {}

  Tried best_product() const {
    std::optional<Tried> best;
    for (const double pseudo_rows : kPseudoRows) {
      Tried tried = judged(independent_rows(rows_.training, base_, pseudo_rows), pseudo_rows);
      if (!best || tried.mean() > best->mean()) best = std::move(tried);
    }
    return *best;
  }

  // Twice as many parts as long as they are better.
  Tried best_mixture(Tried best) const {
    const std::size_t most = std::min(
        {kMostParts, kMostNumbersOfParts / base_.size(), rows_.training.rows() / kRowsAPart});
    const double pseudo_rows = best.pseudo_rows;
    int without_gain = 0;
    for (std::size_t parts = 2; parts <= most && without_gain < kSizesWithoutGain; parts *= 2) {
      Tried tried = best_of_starts(
          parts, std::clamp(pseudo_rows / static_cast<double>(parts), kPseudoRows[0], pseudo_rows));
      if (is_better(tried, best)) {
        best = std::move(tried);
        without_gain = 0;
      } else {
        ++without_gain;
      }
    }
    return best;
  }

  // The same law by all rows.
  CpPotential finish(const Tried& chosen) const {
    const Matrix<double> base = moved_counts(q_, rows_.all);
    if (chosen.density.num_components() == 1) {
      return independent_rows(rows_.all, base, chosen.pseudo_rows);
    }
    const StatesView rows = rows_.all.view().slice(0, std::min(rows_.all.rows(), kMostRowsOfParts));
    return MixtureEm(rows, base, chosen.pseudo_rows)
        .run(context_, chosen.density, kMostSteps, kEnough);
  }

 private:
  Tried judged(CpPotential density, double pseudo_rows) const {
    std::vector<double> log_likelihood = log_mixture(context_, density, rows_.apart);
    return {std::move(density), std::move(log_likelihood), pseudo_rows};
  }

  // A few steps from each start, and all steps from the one that is then the likeliest.
  Tried best_of_starts(std::size_t parts, double pseudo_rows) const {
    const MixtureEm em(rows_.training, base_, pseudo_rows);
    std::optional<Tried> best;
    for (std::uint32_t start = 0; start < kStarts; ++start) {
      Tried tried = judged(em.run(context_, first_parts(q_, base_, rows_.training, parts, start),
                                  kStepsOfAStart, kEnough),
                           pseudo_rows);
      if (!best || tried.mean() > best->mean()) best = std::move(tried);
    }
    return judged(em.run(context_, std::move(best->density), kMostSteps, kEnough), pseudo_rows);
  }

  const Context& context_;
  const backend::ReferencePower& q_;
  const SourceRows& rows_;
  Matrix<double> base_;
};

}  // namespace

OptionSpec source_option() {
  return {.key = "source",
          .kind = Choices{{"mixture", "product", "none"}},
          .default_value = "mixture",
          .help =
              "law of x0 that is fitted beside the bridge, so that it answers x0 given x1 as "
              "well; mixture: as many products as rows kept apart ask for, one among them; none is "
              "fitted where ranks share the model"};
}

CpPotential fit_source_density(const Context& context, const TrainingData& data,
                               const ReferenceProcess& reference, std::size_t dim,
                               bool only_product) {
  const Context host = context.on_host();
  const backend::ReferencePower q = reference.power(host, reference.total_steps());
  const States* set = data.x0_set();
  const SourceRows rows = set ? split_set(*set) : draw_rows(host, data, dim);
  if (rows.apart.rows() < 2) {  // too few to choose by
    return independent_rows(rows.all, moved_counts(q, rows.all), 1.0);
  }
  const SourceSearch search(host, q, rows);
  Tried best = search.best_product();
  if (!only_product) best = search.best_mixture(std::move(best));
  return search.finish(best);
}

std::shared_ptr<const Coupling> with_source_density(const Context& context,
                                                    const FitProblem& problem,
                                                    const SolverOptions& options,
                                                    std::uint64_t seed,
                                                    std::shared_ptr<const Coupling> coupling) {
  const auto bridge = std::dynamic_pointer_cast<const Bridge>(coupling);
  if (!bridge || context.rank_count() > 1 || options.is("source", "none")) return coupling;
  const TrainingData data(problem, options.text("x0_data"), options.text("x1_data"), seed);
  return bridge->with_source(fit_source_density(context, data, problem.reference(), problem.dim(),
                                                options.is("source", "product")));
}

}  // namespace bridgemark
