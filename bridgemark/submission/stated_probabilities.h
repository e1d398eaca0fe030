#pragma once

#include <string>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"

// What can be told of probabilities that a submission states and nobody else can compute. A joint
// KL below 0 is refused by evaluate() itself (metric/likelihood_ratios.h).
namespace bridgemark {

// E|X/n - p| of a binomial X with n trials: by how much a frequency misses its probability (de
// Moivre's closed form).
double mean_frequency_error(double p, std::size_t n);

// Each way in which they cannot be those of the solver that drew the answers, a line without the
// file; none where they can. Each check that rests on draws fails an honest solver with a
// probability of at most kFalseAlarmRate, whatever its law is:
//   marginals that the conditional answers do not have: their overlap falls short of that of honest
//     draws;
//   a log-probability above one of the same row's marginals;
//   probabilities of different x1 given one x0, as far as rows repeat an x0, with a sum above 1, or
//     two of one x1;
//   answers that the truth makes more probable than the solver itself says, against
//     E_q[q*/q] <= 1 (log_evidence_against);
//   answers whose log-probability under the truth is spread otherwise than that of the test rows,
//     by more than the stated total variation between solver and truth, E_q*[max(0, 1 - q/q*)].
std::vector<std::string> impossible_statements(const Context& context, const BenchmarkPair& pair,
                                               const Coupling& answers);

}  // namespace bridgemark
