#pragma once

#include <span>
#include <string>

// Whether numbers that are said to be probabilities can be, told from rows drawn by a law. With p
// and q two laws of x1 given x0, E_p[q(x1|x0) / p(x1|x0)] is at most 1, whatever q is. So for rows
// drawn by p the product of 1 + λ (q/p - 1) over them, 0 < λ <= 1, has a mean of at most 1, too,
// and by Markov's inequality exceeds 1/a with a probability of at most a.
namespace bridgemark {

// A check of honest probabilities fails so often at the most, for any number of rows.
inline constexpr double kFalseAlarmRate = 1e-7;

// The logarithm of that product, averaged over several λ, from log q(x1|x0) - log p(x1|x0) of
// independent rows x1 ~ p, of which -inf is one. A row takes no more away than log 1/(1 - λ), so no
// number of planted rows hides others: whoever overstates has to hit rows that are rare under p.
double log_evidence_against(std::span<const double> log_ratios);

// Whether it is more than the rate allows.
bool are_no_probabilities(std::span<const double> log_ratios);

// Throws InvalidArgument where a joint KL is that of no probabilities, from its rows log q*(x1|x0)
// - log q(x1|x0) on the test set; with λ = 1 these are all whose mean is below log(rate) / rows.
void refuse_impossible_joint(std::span<const double> kl_rows);

}  // namespace bridgemark
