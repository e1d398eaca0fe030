#pragma once

#include <string>
#include <variant>

#include "bridgemark/core/array.h"

namespace bridgemark {

// U and V, [S,r] each, of an elementary step (1 - gamma) I + gamma U V^T.
struct LowRankFactors {
  Matrix<double> u, v;
};

// A reference as a front end is given it: "gaussian" or "uniform", the probabilities [S,S] of an
// elementary step, or factors of low rank.
using GivenReference = std::variant<std::string, Matrix<double>, LowRankFactors>;

}  // namespace bridgemark
