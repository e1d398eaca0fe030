#pragma once

#include <span>

namespace bridgemark {

// Whether two sets of values can be of one law. The logarithm of an upper bound of the probability
// that the ranks of `a` in both sets together have a mean as far from that of all ranks as they
// have, in either direction, where every exchange of values between the sets is as probable as
// none: for draws of one law the bound is below log(p) with a probability of at most p, whatever
// the law is. At most 0; 0 where a set is empty. Ranks bound what a value can do: one that is
// planted moves the mean by 1/a.size() at the most.
// By Hoeffding's bound for draws without replacement: E exp(λ sum) is at most that of draws with
// replacement, (mean exp(λ rank))^n. Equal values share the mean of their ranks; NaN is refused.
double log_chance_of_rank_shift(std::span<const double> a, std::span<const double> b);

}  // namespace bridgemark
