#include "bridgemark/solver/cp/component_shares.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "bridgemark/core/parallel.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

using Tensors = backend::CpTensors<float>;

constexpr double kLeastShare = 1e-9;

// Shares of the components of a CP potential: means of their responsibilities.
void measure_cp(const Context& context, const Tensors& parameters, StatesView x1,
                ComponentShares& components) {
  const std::size_t D = components.D, S = components.S, K = components.K;
  Matrix<double> weights(x1.rows, K);
  parallel_blocks(context, x1.rows, 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      double* row = weights.row(b);
      std::copy_n(parameters.log_beta.data(), K, row);
      for (std::size_t d = 0; d < D; ++d) {
        const auto s = static_cast<std::size_t>(x1.row(b)[d]);
        const float* core = parameters.log_cores.data() + (d * S + s) * K;
        for (std::size_t k = 0; k < K; ++k) row[k] += core[k];
      }
      log_normalize(row, K);
    }
  });
  for (std::size_t k = 0; k < K; ++k) {
    double sum = 0.0;
    for (std::size_t b = 0; b < x1.rows; ++b) sum += std::exp(weights(b, k));
    for (std::size_t d = 0; d < D; ++d) components.share(d, k) = sum;
  }
}

// Shares of states and of moves of a chain: means of their probabilities given a row. Threads have
// sums of their own rows, added in the order of the blocks.
void measure_chain(const Context& context, const Tensors& parameters, StatesView x1,
                   ComponentShares& components) {
  const std::size_t D = components.D, S = components.S, K = components.K;
  const std::vector<double> start(parameters.log_beta.begin(), parameters.log_beta.end());
  const std::vector<double> moves(parameters.log_moves.begin(), parameters.log_moves.end());
  const std::vector<double> emission(parameters.log_cores.begin(), parameters.log_cores.end());
  const HiddenChain chain = log_hidden_chain(D, S, K, start.data(), moves.data(), emission.data());
  constexpr std::size_t kBlock = 64;
  const std::size_t blocks = (x1.rows + kBlock - 1) / kBlock;
  std::vector<Matrix<double>> shares(blocks);
  std::vector<Array3<double>> pairs(blocks);
  parallel_blocks(context, x1.rows, kBlock, [&](std::size_t first, std::size_t last) {
    Matrix<double> share(D, K, 0.0), before(D, K), after(D, K);
    Array3<double> pair(D - 1, K, K, 0.0);
    for (std::size_t b = first; b < last; ++b) {
      const std::int32_t* x = x1.row(b);
      log_paths_before(chain, x, before.data());
      log_paths_after(chain, x, after.data());
      const double total =
          log_sum_of_sums(before.data(), 1, chain.log_emission_at(x, 0), after.data(), K);
      for (std::size_t d = 0; d < D; ++d) {
        const double* here = chain.log_emission_at(x, d);
        for (std::size_t k = 0; k < K; ++k) {
          share(d, k) += std::exp(before(d, k) + here[k] + after(d, k) - total);
        }
        if (d + 1 == D) continue;
        const double* next = chain.log_emission_at(x, d + 1);
        const double* move = chain.log_moves + d * K * K;
        for (std::size_t k = 0; k < K; ++k) {
          for (std::size_t l = 0; l < K; ++l) {
            pair(d, k, l) += std::exp(before(d, k) + here[k] + move[k * K + l] + next[l] +
                                      after(d + 1, l) - total);
          }
        }
      }
    }
    shares[first / kBlock] = std::move(share);
    pairs[first / kBlock] = std::move(pair);
  });
  components.pairs = Array3<double>(D - 1, K, K, 0.0);
  for (std::size_t i = 0; i < blocks; ++i) {
    for (std::size_t j = 0; j < D * K; ++j) components.share.data()[j] += shares[i].data()[j];
    for (std::size_t j = 0; j < components.pairs.size(); ++j) {
      components.pairs.data()[j] += pairs[i].data()[j];
    }
  }
}

}  // namespace

ComponentShares measure_components(const Context& context, const Tensors& parameters,
                                   const Matrix<double>& log_reach, StatesView x1,
                                   std::size_t most_rows) {
  const std::size_t D = parameters.dim, S = parameters.num_categories,
                    K = parameters.num_components;
  ComponentShares components{D, S, K, {D, K, S}, {D, K, S}, {D, K, 0.0}, {}};
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t k = 0; k < K; ++k) {
      std::vector<double> log_core(S), log_emission(S);
      for (std::size_t s = 0; s < S; ++s) {
        log_core[s] = parameters.log_cores[(d * S + s) * K + k];
        log_emission[s] = log_core[s] + log_reach(d, s);
      }
      const double mass = log_sum(log_emission.data(), S);
      for (std::size_t s = 0; s < S; ++s) {
        components.cores(d, k, s) = std::exp(log_core[s] - mass);
        components.emission(d, k, s) = std::exp(log_emission[s] - mass);
      }
    }
  }
  const StatesView rows = x1.slice(0, std::min(x1.rows, most_rows));
  if (parameters.is_chain) {
    measure_chain(context, parameters, rows, components);
  } else {
    measure_cp(context, parameters, rows, components);
  }
  for (std::size_t i = 0; i < D * K; ++i) {
    double& share = components.share.data()[i];
    share = std::max(share / static_cast<double>(rows.rows), kLeastShare);
  }
  return components;
}

}  // namespace bridgemark
