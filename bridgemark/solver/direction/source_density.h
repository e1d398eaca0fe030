#pragma once

#include <cstdint>
#include <memory>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/bridge/source_law.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/solver/core/options.h"
#include "bridgemark/solver/core/training_data.h"

// The law of x0 that a bridge solver fits beside its potential. With it the learned joint law is
// p0(x0) q(x1|x0), so that one training answers x0 given x1 as well.
namespace bridgemark {

// `source`: which laws are tried.
OptionSpec source_option();

// Independent coordinates; a mixture of such; a hidden chain (bridge/source_law.h); the mixture or
// the chain, whichever is better.
enum class SourceForm { kProduct, kMixture, kChain, kBest };

// Whether `source` asks for a law, and for which.
bool wants_source(const SolverOptions& options);
SourceForm source_form(const SolverOptions& options);

// The number of parts or states and of pseudo-rows is chosen by the likelihood of rows kept apart,
// and the parameters come from all rows: those of a finite set, or many of endless ones. A category
// that no row has gets what the reference would bring there. A product where there are too few rows
// to choose by.
SourceLaw fit_source_density(const Context& context, const TrainingData& data,
                             const ReferenceProcess& reference, std::size_t dim, SourceForm form);

// A bridge with the law of x0 that the options ask for; any other coupling, and none, as it is.
std::shared_ptr<const Coupling> with_source_density(const Context& context,
                                                    const FitProblem& problem,
                                                    const SolverOptions& options,
                                                    std::uint64_t seed,
                                                    std::shared_ptr<const Coupling> coupling);

}  // namespace bridgemark
