#include "bridgemark/solver/core/validation.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/truth_kl.h"

namespace bridgemark {

namespace {

nlohmann::json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

// A score has no progress of its own within that of the training, and no checkpoint.
Context of_scores(const Context& context) {
  Context scoring = context;
  scoring.progress = nullptr;
  scoring.stop = nullptr;
  return scoring;
}

}  // namespace

void refuse_validation(const Context& context, const FitProblem& problem,
                       const std::optional<BenchmarkPair>& truth, std::int64_t validate_every) {
  if (validate_every == 0) return;
  if (context.rank_count() > 1) {
    throw_invalid("options", "validate_every must be 0 where ranks share a model, got {}",
                  validate_every);
  }
  if (!problem.pair() && !truth) {
    throw_invalid("options",
                  "validate_every scores against the truth of a pair and must be 0 for data, which "
                  "has none, got {}; the log has what rows held out say",
                  validate_every);
  }
}

std::function<nlohmann::json()> make_validation(const Context& context, const FitProblem& problem,
                                                const std::optional<BenchmarkPair>& truth,
                                                const TrainedModel& model) {
  const BenchmarkPair& pair = problem.pair() ? *problem.pair() : *truth;
  const auto kl = std::make_shared<const TruthKl>(of_scores(context), pair, *model.coupling());
  return [kl, &model] {
    MeanEstimate found{std::nan(""), std::nan("")};
    try {
      found = kl->of(*model.coupling());
    } catch (const InvalidArgument&) {  // parameters that are no law: the training goes on
    } catch (const Interrupted&) {      // the training stops by itself, and keeps its state
    }
    const std::string name(kl->name());
    return nlohmann::json{{name, number_or_null(found.mean)},
                          {validation_error_key(name), number_or_null(found.standard_error)}};
  };
}

std::string validation_error_key(std::string_view score) { return std::string(score) + "_error"; }

}  // namespace bridgemark
