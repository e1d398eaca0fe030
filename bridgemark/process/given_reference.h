#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "bridgemark/core/array.h"

namespace bridgemark {

// U and V, [S,r] each, of an elementary step (1 - gamma) I + gamma U V^T.
struct LowRankFactors {
  Matrix<double> u, v;
};

// How strongly each category of a graph leads to others: rates, or the probabilities of a walk. By
// rows, as scipy's CSR has them; an entry that is missing is 0.
struct GraphWeights {
  std::vector<std::int64_t> first;  // [S+1], where the entries of each row begin
  std::vector<std::int32_t> to;     // [entries]
  std::vector<double> weight;       // [entries]

  std::size_t num_categories() const { return first.empty() ? 0 : first.size() - 1; }
};

// A reference as a front end is given it: the name of a kind that has a gamma alone, the
// probabilities [S,S] of an elementary step, factors of low rank, or the weights of a graph.
using GivenReference = std::variant<std::string, Matrix<double>, LowRankFactors, GraphWeights>;

}  // namespace bridgemark
