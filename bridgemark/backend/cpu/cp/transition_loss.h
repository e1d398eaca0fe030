#pragma once

#include <cstddef>

#include "bridgemark/backend/plan/cp_tensors.h"

// The loss of one transition: a model's distribution over categories against its target. Arrays are
// padded to whole vectors of 64 bytes; behind the last category logarithms are kLogNothing, and
// what is computed there is 0.
namespace bridgemark::backend::cpu {

// A logarithm whose exponential is 0, and whose differences stay finite.
template <typename T>
constexpr T kLogNothing = T(-1e30);

// out = log_factor + log(y / sum of y) for the `count` categories whose log_factor is at least
// counts_from and above kLogNothing. For all others y becomes 1 and out kLogNothing. Returns
// whether each y that counts is at least `floor`, of the sum too where that is above 1; out is not
// written where one is not.
template <typename T>
bool log_weights_of(const T* log_factor, T counts_from, std::size_t count, T floor, T* y, T* out);

// log_weights, unnormalised, become the model's logarithms; target = exp(log_target); flow = d loss
// / d log_weights, where the loss counts `scale` times. Returns the loss.
template <typename T>
double transition_loss(MatchingLoss kind, T scale, const T* log_target, std::size_t count,
                       T* log_weights, T* target, T* flow);

// out = left / right.
template <typename T>
void divide_rows(const T* left, const T* right, std::size_t count, T* out);

}  // namespace bridgemark::backend::cpu
