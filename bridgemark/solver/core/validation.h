#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/solver/core/trained_solver.h"

// Scores of a model in training against the truth of a pair (validate_every): they are written and
// decide nothing.
namespace bridgemark {

// Throws InvalidArgument where scores every so many updates cannot be made: of data, which has no
// truth, and where ranks share the model. `truth` is that of a training set's rows.
void refuse_validation(const Context& context, const FitProblem& problem,
                       const std::optional<BenchmarkPair>& truth, std::int64_t validate_every);

// What a line of the log says of the model as it is: the KL (metric/truth_kl.h) by its name and its
// error, null where the model is no law, or where the score was interrupted. The model must outlive
// it. Throws InvalidArgument where the pair's truth gives no KL for such a model.
std::function<nlohmann::json()> make_validation(const Context& context, const FitProblem& problem,
                                                const std::optional<BenchmarkPair>& truth,
                                                const TrainedModel& model);

// The key of a score's error in such a line.
std::string validation_error_key(std::string_view score);

}  // namespace bridgemark
