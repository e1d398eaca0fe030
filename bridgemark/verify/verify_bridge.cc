#include <algorithm>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/verify/verify_kinds.h"

namespace bridgemark {

Verification verify_bridge(const Context& context, const GoldenFile& file) {
  constexpr double kTolerance = 1e-9;
  const ReferenceChain chain = file.chain();
  const auto S = static_cast<std::size_t>(chain.num_categories());
  const auto D = static_cast<std::size_t>(std::max(file.integer("dim"), 0));
  const auto K = static_cast<std::size_t>(std::max(file.integer("num_components"), 0));
  const SafetensorsFile& tensors = file.tensors;
  if (tensors.shape("x").size() != 2)
    throw_file(file.path, "tensor 'x' must have shape [B, {}]", D);
  const std::size_t B = tensors.shape("x")[0];
  tensors.expect_shape("log_beta", std::vector{K});
  tensors.expect_shape("log_cores", std::vector{D, S, K});
  tensors.expect_shape("x", std::vector{B, D});
  tensors.expect_shape("n", std::vector{B});
  tensors.expect_shape("log_c", std::vector{B});
  for (const char* name : {"log_conditional_marginals", "log_transition_marginals"}) {
    tensors.expect_shape(name, std::vector{B, D, S});
  }

  const CpBridge bridge(chain.process(),
                        CpPotential(tensors.read_doubles("log_beta"),
                                    Array3<double>(D, S, K, tensors.read_doubles("log_cores"))));
  const States x(B, D, tensors.read_int32("x"));
  const std::vector<std::int32_t> n = tensors.read_int32("n");

  std::vector<double> log_c(B);
  bridge.log_normalizer(context, x, log_c);
  Array3<double> conditional;
  bridge.log_marginals(context, x, conditional);

  // Rows of one step go through the bridge together.
  Array3<double> transition(B, D, S), rows_transition;
  for (int step = 0; step < chain.num_steps(); ++step) {
    std::vector<std::size_t> rows;
    for (std::size_t b = 0; b < B; ++b) {
      if (n[b] == step) rows.push_back(b);
    }
    if (rows.empty()) continue;
    States at_step(rows.size(), D);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(x.row(rows[i]), D, at_step.row(i));
    }
    bridge.log_transition_marginals(context, chain.num_steps(), step, at_step, rows_transition);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(rows_transition.row(i, 0), D * S, transition.row(rows[i], 0));
    }
  }
  for (std::size_t b = 0; b < B; ++b) {
    if (n[b] < 0 || n[b] >= chain.num_steps()) {
      throw_file(file.path, "tensor 'n' must lie in 0..{}, got {} at {}", chain.num_steps() - 1,
                 n[b], b);
    }
  }

  const auto check = [&](const char* name, std::span<const double> computed) {
    return TensorCheck{name, max_error(computed, tensors.read_doubles(name)), kTolerance};
  };
  Verification result;
  result.checks = {check("log_c", log_c),
                   check("log_conditional_marginals", {conditional.data(), conditional.size()}),
                   check("log_transition_marginals", {transition.data(), transition.size()})};
  return result;
}

}  // namespace bridgemark
