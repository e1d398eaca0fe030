#include "bridgemark/solver/direction/source_density.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/bridge/bridge.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/direction/chain_em.h"
#include "bridgemark/solver/direction/mixture_em.h"
#include "bridgemark/solver/direction/source_starts.h"

namespace bridgemark {

namespace {

// Of endless draws: rows that choose, and numbers in the rows that all parameters come from.
constexpr std::size_t kRowsToChoose = 1 << 15;
constexpr std::size_t kNumbersInRows = 1 << 24;
constexpr std::size_t kMostSourceRows = 1 << 18, kMostRowsOfParts = 1 << 16;

constexpr double kShareKeptApart = 0.2;
constexpr double kPseudoRows[] = {0.5, 2.0, 8.0, 32.0, 128.0};

constexpr std::size_t kMostParts = 64;
constexpr std::size_t kMostNumbersOfParts = 1 << 19;  // D S J
constexpr std::size_t kRowsAPart = 8;                 // at least
constexpr int kStarts = 3, kStepsOfAStart = 10, kMostSteps = 60;
constexpr double kEnough = 1e-4;        // nats a row that a step must add
constexpr double kErrorsOfAGain = 2.0;  // that more parts must be better by
constexpr int kSizesWithoutGain = 2;    // that end the search

constexpr std::size_t kMostStates = 16;
constexpr std::size_t kMovesInAStep = 1 << 27;  // rows D J^2 of a step that fits a chain, at most

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

// A law that was tried, and the log-likelihood of each row kept apart.
struct Tried {
  SourceLaw density;
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

Tried better(Tried a, Tried b) { return b.mean() > a.mean() ? std::move(b) : std::move(a); }

class SourceSearch {
 public:
  SourceSearch(const Context& context, const backend::ReferencePower& q, const SourceRows& rows)
      : context_(context), q_(q), rows_(rows), base_(moved_counts(q, rows.training)) {}

  Tried best_of_form(SourceForm form) const {
    const Tried product = best_product();
    const double pseudo_rows = product.pseudo_rows;
    const auto mixture_of = [&](std::size_t parts) { return tried_mixture(parts, pseudo_rows); };
    const auto chain_of = [&](std::size_t states) { return tried_chain(states, pseudo_rows); };
    switch (form) {
      case SourceForm::kProduct:
        return product;
      case SourceForm::kMixture:
        return grown(product, 2, kMostParts, mixture_of);
      case SourceForm::kChain:
        return grown(chain_of(2), 4, kMostStates, chain_of);
      case SourceForm::kBest:
        break;
    }
    Tried mixture = grown(product, 2, kMostParts, mixture_of);
    if (base_.rows() == 1) return mixture;  // a chain of one coordinate is one
    Tried chain = grown(product, 2, kMostStates, chain_of);
    return is_better(chain, mixture) ? std::move(chain) : std::move(mixture);
  }

  // The same law by all rows.
  SourceLaw finish(const Tried& chosen) const {
    const Matrix<double> base = moved_counts(q_, rows_.all);
    const std::size_t J = chosen.density.num_components();
    if (const ChainPotential* chain = chosen.density.chain()) {
      return ChainEm(rows_of_chain(rows_.all, J), base, chosen.pseudo_rows)
          .run(context_, *chain, kMostSteps, kEnough);
    }
    if (J == 1) return independent_rows(rows_.all, base, chosen.pseudo_rows);
    const StatesView rows = rows_.all.view().slice(0, std::min(rows_.all.rows(), kMostRowsOfParts));
    return MixtureEm(rows, base, chosen.pseudo_rows)
        .run(context_, *chosen.density.mixture(), kMostSteps, kEnough);
  }

 private:
  Tried judged(SourceLaw density, double pseudo_rows) const {
    std::vector<double> log_likelihood(rows_.apart.rows());
    density.log_probability(context_, rows_.apart, log_likelihood);
    return {std::move(density), std::move(log_likelihood), pseudo_rows};
  }

  Tried best_product() const {
    std::optional<Tried> best;
    for (const double pseudo_rows : kPseudoRows) {
      Tried tried = judged(independent_rows(rows_.training, base_, pseudo_rows), pseudo_rows);
      best = best ? better(std::move(*best), std::move(tried)) : std::move(tried);
    }
    return std::move(*best);
  }

  // Twice the size, from `first` on, as long as it is better.
  template <typename OfSize>
  Tried grown(Tried best, std::size_t first, std::size_t most, OfSize&& of_size) const {
    most = std::min({most, kMostNumbersOfParts / base_.size(), rows_.training.rows() / kRowsAPart});
    int without_gain = 0;
    for (std::size_t size = first; size <= most && without_gain < kSizesWithoutGain; size *= 2) {
      Tried tried = of_size(size);
      if (is_better(tried, best)) {
        best = std::move(tried);
        without_gain = 0;
      } else {
        ++without_gain;
      }
    }
    return best;
  }

  // Of each of so many parts or states, which share those of one law.
  static double shared(double pseudo_rows, std::size_t sharers) {
    return std::clamp(pseudo_rows / static_cast<double>(sharers), kPseudoRows[0], pseudo_rows);
  }

  StatesView rows_of_chain(const States& rows, std::size_t states) const {
    const std::size_t of_a_row = base_.rows() * states * states;
    const std::size_t most = std::clamp(kMovesInAStep / of_a_row, kRowsAPart, kMostRowsOfParts);
    return rows.view().slice(0, std::min(rows.rows(), most));
  }

  // A few steps from each start, and all steps from the one that is then the likeliest.
  Tried tried_mixture(std::size_t parts, double pseudo_rows) const {
    const double of_a_part = shared(pseudo_rows, parts);
    const MixtureEm em(rows_.training, base_, of_a_part);
    const auto started = [&](std::uint32_t start) {
      return judged(em.run(context_, first_parts(q_, base_, rows_.training, parts, start),
                           kStepsOfAStart, kEnough),
                    of_a_part);
    };
    Tried best = started(0);
    for (std::uint32_t start = 1; start < kStarts; ++start) {
      best = better(std::move(best), started(start));
    }
    return judged(em.run(context_, *best.density.mixture(), kMostSteps, kEnough), of_a_part);
  }

  Tried tried_chain(std::size_t states, double pseudo_rows) const {
    const double of_a_state = shared(pseudo_rows, states);
    const StatesView rows = rows_of_chain(rows_.training, states);
    const ChainEm em(rows, base_, of_a_state);
    const auto started = [&](ChainPotential start) {
      return judged(em.run(context_, std::move(start), kStepsOfAStart, kEnough), of_a_state);
    };
    const Tried best = better(started(chain_of_ranges(base_, rows, states)),
                              started(chain_of_parts(q_, base_, rows, states)));
    return judged(em.run(context_, *best.density.chain(), kMostSteps, kEnough), of_a_state);
  }

  const Context& context_;
  const backend::ReferencePower& q_;
  const SourceRows& rows_;
  Matrix<double> base_;
};

}  // namespace

OptionSpec source_option() {
  return {.key = "source",
          .kind = Choices{{"mixture", "product", "chain", "none"}},
          .default_value = "auto",
          .help =
              "law of x0 that is fitted beside the bridge, so that it answers x0 given x1 as "
              "well; mixture: as many products as rows kept apart ask for, one among them; chain: "
              "a hidden chain along the coordinates; auto: a mixture, or a chain where those rows "
              "are likelier under it; none is fitted where ranks share the model",
          .or_auto = true};
}

bool wants_source(const SolverOptions& options) {
  return options.is_auto("source") || !options.is("source", "none");
}

SourceForm source_form(const SolverOptions& options) {
  if (options.is_auto("source")) return SourceForm::kBest;
  if (options.is("source", "mixture")) return SourceForm::kMixture;
  if (options.is("source", "product")) return SourceForm::kProduct;
  return SourceForm::kChain;
}

SourceLaw fit_source_density(const Context& context, const TrainingData& data,
                             const ReferenceProcess& reference, std::size_t dim, SourceForm form) {
  const Context host = context.on_host();
  const backend::ReferencePower q = reference.power(host, reference.total_steps());
  const States* set = data.x0_set();
  const SourceRows rows = set ? split_set(*set) : draw_rows(host, data, dim);
  if (rows.apart.rows() < 2) {  // too few to choose by
    return independent_rows(rows.all, moved_counts(q, rows.all), 1.0);
  }
  const SourceSearch search(host, q, rows);
  return search.finish(search.best_of_form(form));
}

std::shared_ptr<const Coupling> with_source_density(const Context& context,
                                                    const FitProblem& problem,
                                                    const SolverOptions& options,
                                                    std::uint64_t seed,
                                                    std::shared_ptr<const Coupling> coupling) {
  const auto bridge = std::dynamic_pointer_cast<const Bridge>(coupling);
  if (!bridge || context.rank_count() > 1 || !wants_source(options)) return coupling;
  const TrainingData data(problem, options.text("x0_data"), options.text("x1_data"), seed);
  return bridge->with_source(
      fit_source_density(context, data, problem.reference(), problem.dim(), source_form(options)));
}

}  // namespace bridgemark
