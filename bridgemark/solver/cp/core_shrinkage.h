#pragma once

#include <cstddef>

#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/solver/cp/component_shares.h"

namespace bridgemark {

// The potential whose cores are drawn towards what all cores have in common.
//
// A core times the reach of its categories is what a component emits. The square root of an
// emission that was estimated from m rows has nearly the same noise at each category, variance
// 1/(4m). The square roots of all D*K emissions are taken for draws from one normal distribution
// over the S categories with this noise on top; EM finds its mean and covariance, and each emission
// becomes what is expected of it given its estimate. Categories that rise and fall together in many
// cores then lend each other rows: neighbours, where categories have an order, although neither the
// reference nor anybody else said so.
//
// `shares` are those of the potential on the rows of x1 that it was trained on, `rows` their
// number. `strength` multiplies the noise; 0 leaves the potential as it is.
backend::CpTensors<float> shrink_cores(const backend::CpTensors<float>& parameters,
                                       const ComponentShares& shares, std::size_t rows,
                                       double strength);

// A covariance of more categories would take longer than the training.
inline constexpr std::size_t kMostShrunkCategories = 256;

}  // namespace bridgemark
