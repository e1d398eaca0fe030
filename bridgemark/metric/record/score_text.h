#pragma once

#include <string>

namespace bridgemark {

// `digits` significant digits in fixed notation (0.000412, 12.3, 1041), from 1e-6 down with an
// exponent (4.12e-07). "0" for zero and for what is left of it after rounding, "inf" for an
// infinite value, "" for NaN.
std::string significant_text(double value, int digits);

// A score for a list of scores: five decimals, or three significant digits where that is more.
std::string score_text(double value);

// Its standard error, with as many decimals as the score shows.
std::string error_text(double error, double value);

}  // namespace bridgemark
