#include <cmath>
#include <vector>

#include "bridgemark/bridge/tree_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/verify/verify_kinds.h"

namespace bridgemark {

namespace {

ReferenceProcess read_process(const GoldenFile& file, int num_categories) {
  const std::string prior = file.text("prior_type");
  const double gamma = file.number("gamma");
  const int total_steps = file.integer("total_steps");
  if (prior == "uniform") return ReferenceProcess::uniform(num_categories, gamma, total_steps);
  if (prior == "gaussian") return ReferenceProcess::gaussian(num_categories, gamma, total_steps);
  throw_file(file.path, "metadata 'prior_type' must be uniform or gaussian, got '{}'", prior);
}

}  // namespace

// log_moves [M,K,K] has an unused matrix for the root.
Verification verify_tree(const Context& context, const GoldenFile& file) {
  constexpr double kTolerance = 1e-12;
  const SafetensorsFile& tensors = file.tensors;
  const std::vector<std::size_t>& shape = tensors.shape("log_cores");
  if (shape.size() != 3 || shape[1] < 2) {
    throw_file(file.path, "tensor 'log_cores' must have shape [D, S >= 2, K]");
  }
  const std::size_t D = shape[0], S = shape[1], K = shape[2];
  if (tensors.shape("parent").size() != 1 || tensors.shape("parent")[0] < 1) {
    throw_file(file.path, "tensor 'parent' must have shape [M >= 1]");
  }
  const std::size_t M = tensors.shape("parent")[0];
  if (tensors.shape("x0").size() != 2) throw_file(file.path, "tensor 'x0' must have two axes");
  const std::size_t B = tensors.shape("x0")[0];
  tensors.expect_shape("node_of", std::vector{D});
  tensors.expect_shape("log_root", std::vector{K});
  tensors.expect_shape("log_moves", std::vector{M, K, K});
  for (const char* name : {"log_v", "log_c", "log_conditional"}) {
    tensors.expect_shape(name, std::vector{B});
  }
  tensors.expect_shape("log_conditional_marginals", std::vector{B, D, S});
  const int num_categories = static_cast<int>(S);
  const States x0 = file.states("x0", B, D, num_categories),
               x1 = file.states("x1", B, D, num_categories);
  const std::vector<double> log_moves = tensors.read_doubles("log_moves");
  const TreeBridge bridge(
      read_process(file, num_categories),
      {TreeShape(tensors.read_int32("parent"), tensors.read_int32("node_of")),
       tensors.read_doubles("log_root"),
       Array3<double>(M - 1, K, K,
                      {log_moves.begin() + static_cast<std::ptrdiff_t>(K * K), log_moves.end()}),
       Array3<double>(D, S, K, tensors.read_doubles("log_cores"))});

  std::vector<double> log_v(B), log_c(B), log_conditional(B);
  bridge.log_potential(context, x1, log_v);
  bridge.log_normalizer(context, x0, log_c);
  bridge.log_conditional(context, x0, x1, log_conditional);
  Array3<double> marginals;
  bridge.log_marginals(context, x0, marginals);
  const auto check = [&](const char* name, std::span<const double> computed) {
    return TensorCheck{name, max_error(computed, tensors.read_doubles(name)), kTolerance};
  };
  Verification result;
  result.checks = {check("log_v", log_v), check("log_c", log_c),
                   check("log_conditional", log_conditional),
                   check("log_conditional_marginals", {marginals.data(), marginals.size()})};
  return result;
}

}  // namespace bridgemark
