#include "bridgemark/solver/cp/cp_parameters.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/bridge/tree_bridge.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

std::shared_ptr<const Bridge> bridge_of(const ReferenceProcess& process,
                                        const backend::CpTensors<float>& parameters,
                                        int own_num_steps) {
  const auto widen = [](std::span<const float> values) {
    return std::vector<double>(values.begin(), values.end());
  };
  const std::size_t D = parameters.dim, S = parameters.num_categories,
                    K = parameters.num_components;
  std::vector<double> log_beta = widen(parameters.log_beta);
  Array3<double> log_cores(D, S, K, widen(parameters.log_cores));
  if (!parameters.is_chain) {
    return std::make_shared<CpBridge>(
        process, CpPotential(std::move(log_beta), std::move(log_cores)), own_num_steps);
  }
  const std::size_t edges = (parameters.tree ? parameters.tree->num_nodes() : D) - 1;
  Array3<double> log_moves(edges, K, K, widen(parameters.log_moves));
  if (parameters.tree) {
    return std::make_shared<TreeBridge>(process,
                                        TreePotential(*parameters.tree, std::move(log_beta),
                                                      std::move(log_moves), std::move(log_cores)),
                                        own_num_steps);
  }
  return std::make_shared<ChainBridge>(
      process, ChainPotential(std::move(log_beta), std::move(log_moves), std::move(log_cores)),
      own_num_steps);
}

namespace {

// log Q^n of the reference; of a number between two whole ones the mixture of both.
Matrix<double> log_mixed_power(const Context& context, const ReferenceProcess& process, double n) {
  const int below = static_cast<int>(n);
  const double share = n - below;  // of the one above
  Matrix<double> log_q = process.log_power(context, below).matrix();
  if (share == 0.0) return log_q;
  const SharedMatrix above = process.log_power(context, below + 1);
  for (std::size_t i = 0; i < log_q.size(); ++i) {
    log_q.data()[i] =
        log_add(log_q.data()[i] + std::log1p(-share), above.data()[i] + std::log(share));
  }
  return log_q;
}

// The same mixture of what the powers make of the cores, without a table.
backend::CpTensors<float> smoothed_by_factors(const Context& context,
                                              const ReferenceProcess& process,
                                              const backend::CpTensors<float>& parameters,
                                              double steps) {
  const std::size_t D = parameters.dim, S = parameters.num_categories,
                    K = parameters.num_components;
  const Array3<double> cores(D, S, K, {parameters.log_cores.begin(), parameters.log_cores.end()});
  const auto seen_through = [&](int n) {
    Array3<double> out(D, S, K);
    backend::of(context).propagate_cores_factored(context, *process.power(context, n).factors(),
                                                  cores, out);
    return out;
  };
  const int below = static_cast<int>(steps);
  const double share = steps - below;  // of the power above
  Array3<double> spread = seen_through(below);
  if (share > 0.0) {
    const Array3<double> above = seen_through(below + 1);
    for (std::size_t i = 0; i < spread.size(); ++i) {
      spread.data()[i] =
          log_add(spread.data()[i] + std::log1p(-share), above.data()[i] + std::log(share));
    }
  }
  backend::CpTensors<float> result = parameters;
  std::transform(spread.data(), spread.data() + spread.size(), result.log_cores.begin(),
                 [](double value) { return static_cast<float>(value); });
  return result;
}

}  // namespace

backend::CpTensors<float> smoothed(const Context& context, const ReferenceProcess& process,
                                   const backend::CpTensors<float>& parameters, double steps) {
  backend::CpTensors<float> result = parameters;
  if (steps == 0.0) return result;
  if (!process.has_tables()) return smoothed_by_factors(context, process, parameters, steps);
  const Matrix<double> log_q = log_mixed_power(context, process, steps);
  const std::size_t S = parameters.num_categories, K = parameters.num_components;
  Matrix<double> cores(S, K), spread(S, K);
  for (std::size_t d = 0; d < parameters.dim; ++d) {
    const float* from = parameters.log_cores.data() + d * S * K;
    std::copy_n(from, S * K, cores.data());
    backend::of(context).log_matmul(context, log_q, cores, spread.view());
    std::transform(spread.data(), spread.data() + S * K, result.log_cores.begin() + d * S * K,
                   [](double value) { return static_cast<float>(value); });
  }
  return result;
}

}  // namespace bridgemark
