#pragma once

#include <span>
#include <string_view>

#include "bridgemark/core/array.h"

// Log-probabilities that an outside solver states of itself, in files or from Python: checked
// before a score trusts them. Messages call them by `name`.
namespace bridgemark {

// How far the sum of a row may lie from 1: rows that were normalised in float32 stay well below.
inline constexpr double kGivenSumTolerance = 1e-4;

// Rows of log-probabilities, -inf included. Throws InvalidArgument unless each sums to 1 within the
// tolerance; then normalises it in float64, so that what is left of the sum is not counted as KL.
void normalize_given_rows(std::string_view name, MatrixView<double> log_rows);

// log q(x1|x0) of single rows, -inf included. Throws InvalidArgument for NaN and for what lies
// above 0 by more than the tolerance.
void check_given_joint(std::string_view name, std::span<const double> log_values);

}  // namespace bridgemark
