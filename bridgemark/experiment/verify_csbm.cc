#include <string>
#include <vector>

#include "bridgemark/backend/network_training.h"
#include "bridgemark/core/error.h"
#include "bridgemark/experiment/verify_kinds.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/solver/network_file.h"

// The network, losses and gradients of CSBM. The clean end of these files lies at the start of the
// chain, so the steps towards it are those of the reference seen backwards.
namespace bridgemark {

namespace {

template <typename T>
void check_network(const Context& context, const GoldenFile& file, Verification& result) {
  const ReferenceChain chain = file.chain();
  const int dim = file.integer("dim");
  if (dim < 1 || dim > 1 << 20) {
    throw_file(file.path, "metadata 'dim' must lie in 1..{}, got {}", 1 << 20, dim);
  }
  const auto D = static_cast<std::size_t>(dim);
  const auto S = static_cast<std::size_t>(chain.num_categories());
  const backend::NetworkShape shape = read_network_shape(file.tensors, file.path, "param.", D, S);
  if (shape.num_steps != chain.num_steps()) {
    throw_file(file.path, "tensor 'param.timestep_embedding.weight' must have {} rows, got {}",
               chain.num_steps() + 1, shape.num_steps + 1);
  }
  if (file.tensors.shape("n").size() != 1) throw_file(file.path, "tensor 'n' must have one axis");
  const std::vector<std::int32_t> n = file.tensors.read_int32("n");
  for (const std::int32_t steps_left : n) {
    if (steps_left < 1 || steps_left > chain.num_steps()) {
      throw_file(file.path, "tensor 'n' must lie in 1..{}, got {}", chain.num_steps(), steps_left);
    }
  }
  const States clean = file.states("x_clean", n.size(), D, chain.num_categories());
  const States x = file.states("x_n", n.size(), D, chain.num_categories());
  const auto parameters = read_network<T>(file.tensors, file.path, "param.", shape);
  const ReferenceChain backwards(chain.process().time_reversed(), chain.num_steps());
  const backend::ChainTables<T> tables = make_chain_tables<T>(context, backwards);
  backend::NetworkTensors<T> gradient(shape);
  backend::NetworkWorkspace<T> workspace;
  std::vector<double> logits(n.size() * D * S), log_model(logits.size()), target(logits.size());
  for (const backend::MatchingLoss kind :
       {backend::MatchingLoss::kKl, backend::MatchingLoss::kMse}) {
    const std::string prefix = kind == backend::MatchingLoss::kKl ? "kl_" : "mse_";
    const double loss = backend::network_loss<T>(context, parameters, tables, kind, x, clean, n,
                                                 gradient, workspace, {logits, log_model, target});
    if (kind == backend::MatchingLoss::kKl) {
      add_training_check<T>(file, "logits", logits, result);
      add_training_check<T>(file, "target", target, result);
      add_training_check<T>(file, "log_model", log_model, result);
    }
    add_training_check<T>(file, prefix + "loss", std::vector{loss}, result);
    for (const backend::NetworkPart& part : backend::network_parts(shape)) {
      const T* first = gradient.values.data() + part.offset;
      add_training_check<T>(file, prefix + "grad." + part.name,
                            std::vector<double>(first, first + part.count), result);
    }
  }
}

}  // namespace

Verification verify_csbm(const Context& context, const GoldenFile& file) {
  Verification result;
  check_network<double>(context, file, result);
  check_network<float>(context, file, result);
  return result;
}

}  // namespace bridgemark
