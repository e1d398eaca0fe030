#pragma once

#include <string>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/pair/benchmark_pair.h"

// What can be told of log-probabilities that a submission states and nobody else can compute.
namespace bridgemark {

// E|X/n - p| of a binomial X with n trials: by how much a frequency misses its probability (de
// Moivre's closed form).
double mean_frequency_error(double p, std::size_t n);

// Each way in which they cannot be those of the solver that drew the answers, a line without the
// file; none where they can. A joint KL below 0: nothing is nearer to the truth than itself.
// Marginals that the draws given an input do not have: their overlap falls short of that of honest
// draws.
std::vector<std::string> impossible_statements(const Context& context, const BenchmarkPair& pair,
                                               const Coupling& answers,
                                               const Evaluation& evaluation);

}  // namespace bridgemark
