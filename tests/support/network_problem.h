#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/array.h"
#include "bridgemark/process/reference_process.h"
#include "tests/support/random_bridge.h"

namespace bridgemark::testing {

// A network with rows to evaluate its loss on.
struct NetworkProblem {
  ReferenceChain chain;
  backend::NetworkTensors<double> parameters;
  States x, clean;
  std::vector<std::int32_t> steps_left;
};

inline NetworkProblem make_network_problem(const ReferenceChain& chain, std::size_t D,
                                           std::vector<std::size_t> hidden,
                                           std::size_t category_width, std::size_t B, double spread,
                                           std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  backend::NetworkShape shape;
  shape.dim = D;
  shape.num_categories = static_cast<std::size_t>(chain.num_categories());
  shape.num_steps = chain.num_steps();
  shape.hidden = std::move(hidden);
  shape.category_width = category_width;
  NetworkProblem problem{
      chain, backend::NetworkTensors<double>(shape), States(B, D), States(B, D), {}};
  for (double& value : problem.parameters.values) value = spread * (2.0 * unit(generator) - 1.0);
  for (States* states : {&problem.x, &problem.clean}) {
    for (std::size_t i = 0; i < states->size(); ++i) {
      states->data()[i] =
          static_cast<std::int32_t>(unit(generator) * static_cast<double>(shape.num_categories));
    }
  }
  for (std::size_t b = 0; b < B; ++b) {
    problem.steps_left.push_back(1 + static_cast<std::int32_t>(unit(generator) * shape.num_steps));
  }
  return problem;
}

// Every kind of reference and input, one and several layers, batches around the block of 16.
inline std::vector<NetworkProblem> network_problems() {
  std::vector<NetworkProblem> list;
  list.push_back(
      make_network_problem({ReferenceProcess::gaussian(7, 0.4, 8), 4}, 3, {5, 9}, 0, 6, 0.5, 1));
  list.push_back(
      make_network_problem({ReferenceProcess::uniform(5, 0.1, 8), 8}, 2, {21}, 3, 17, 0.7, 2));
  list.push_back(
      make_network_problem({ReferenceProcess::from_matrix(random_stochastic(4, 0.5, 3), 6), 3}, 4,
                           {6, 7, 8}, 2, 33, 0.6, 3));
  list.push_back(
      make_network_problem({ReferenceProcess::uniform(2, 0.9, 1), 1}, 1, {1}, 0, 1, 1.0, 4));
  // Each of them again with a last step of the other kind.
  for (std::size_t i = 0, count = list.size(); i < count; ++i) {
    list.push_back(list[i]);
    list.back().parameters.shape.reference_last_step = true;
  }
  return list;
}

template <typename T>
backend::NetworkTensors<T> convert(const backend::NetworkTensors<double>& from) {
  backend::NetworkTensors<T> to(from.shape);
  std::copy(from.values.begin(), from.values.end(), to.values.begin());
  return to;
}

// Logits of hundreds over a narrow Gaussian reference: the model leaves the range of float32, and
// of float64 for the narrowest, where the target does not.
inline NetworkProblem extreme_network_problem(double gamma) {
  NetworkProblem problem =
      make_network_problem({ReferenceProcess::gaussian(30, gamma, 16), 8}, 2, {4}, 0, 8, 0.3, 11);
  double* bias = problem.parameters.bias(problem.parameters.shape.num_layers() - 1);
  for (std::size_t o = 0; o < 60; ++o) bias[o] = o % 2 == 0 ? 300.0 : -900.0;
  return problem;
}

// The transition probabilities of a network, as logarithms [B,D,S].
inline Array3<double> log_transition(const Context& context,
                                     const backend::NetworkTensors<float>& network,
                                     const backend::ChainTables<float>& tables, int steps_left,
                                     StatesView x) {
  Array3<double> out(x.rows, network.shape.dim, network.shape.num_categories);
  backend::of(context).network_log_transition(context, network, tables, steps_left, x,
                                              out.as_matrix());
  return out;
}

}  // namespace bridgemark::testing
