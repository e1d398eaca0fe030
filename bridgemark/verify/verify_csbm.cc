#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/solver/csbm/network_file.h"
#include "bridgemark/verify/verify_kinds.h"

// The network, losses and gradients of CSBM. The clean end of these files lies at the start of the
// chain, so the steps towards it are those of the reference seen backwards.
namespace bridgemark {

namespace {

// What a file asks to be computed.
struct Problem {
  ReferenceChain towards_clean;  // the chain that leads from x to the clean end
  backend::NetworkShape shape;
  States clean, x;
  std::vector<std::int32_t> steps_left;
};

Problem read_problem(const GoldenFile& file) {
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
  return {ReferenceChain(chain.process().time_reversed(), chain.num_steps()), shape,
          file.states("x_clean", n.size(), D, chain.num_categories()),
          file.states("x_n", n.size(), D, chain.num_categories()), n};
}

const char* prefix_of(backend::MatchingLoss kind) {
  return kind == backend::MatchingLoss::kKl ? "kl_" : "mse_";
}

constexpr backend::MatchingLoss kLosses[] = {backend::MatchingLoss::kKl,
                                             backend::MatchingLoss::kMse};

template <typename T>
void check_loss(const GoldenFile& file, const std::string& prefix, double loss,
                const backend::NetworkTensors<T>& gradient, Verification& result) {
  add_training_check<T>(file, prefix + "loss", std::vector{loss}, result);
  for (const backend::NetworkPart& part : backend::network_parts(gradient.shape)) {
    const T* first = gradient.values.data() + part.offset;
    add_training_check<T>(file, prefix + "grad." + part.name,
                          std::vector<double>(first, first + part.count), result);
  }
}

template <typename T>
void check_network(const Context& context, const GoldenFile& file, Verification& result) {
  const Problem problem = read_problem(file);
  const auto parameters = read_network<T>(file.tensors, file.path, "param.", problem.shape);
  const auto tables = make_chain_tables<T>(context, problem.towards_clean);
  backend::NetworkTensors<T> gradient(problem.shape);
  backend::NetworkWorkspace<T> workspace;
  std::vector<double> logits(problem.x.size() * problem.shape.num_categories),
      log_model(logits.size()), target(logits.size());
  for (const backend::MatchingLoss kind : kLosses) {
    const double loss = backend::of(context).network_loss(
        context, parameters, tables, kind, problem.x, problem.clean, problem.steps_left, gradient,
        workspace, {logits, log_model, target});
    if (kind == backend::MatchingLoss::kKl) {
      add_training_check<T>(file, "logits", logits, result);
      add_training_check<T>(file, "target", target, result);
      add_training_check<T>(file, "log_model", log_model, result);
    }
    check_loss<T>(file, prefix_of(kind), loss, gradient, result);
  }
}

// A device has the loss in its trainer alone: in float32, without the values beside it.
void check_on_device(const Context& context, const GoldenFile& file, Verification& result) {
  const Problem problem = read_problem(file);
  const auto parameters = read_network<float>(file.tensors, file.path, "param.", problem.shape);
  const auto steps =
      std::make_shared<const backend::PinnedSteps>(make_pinned_steps({}, problem.towards_clean));
  const backend::TrainedNetwork start = backend::start_training(parameters);
  for (const backend::MatchingLoss kind : kLosses) {
    backend::NetworkTrainerPlan plan;
    plan.start = {start, start};
    plan.steps = {steps, steps};
    // Rows that a training would draw; nothing is drawn here.
    plan.x0.cumulative = plan.x1.cumulative =
        Matrix<double>(problem.shape.dim, problem.shape.num_categories, 1.0);
    plan.pinned = pinned_rows({}, problem.towards_clean, 0);
    plan.batch_size = problem.x.rows();
    plan.loss = kind;
    backend::NetworkTensors<float> gradient;
    const double loss = backend::of(context)
                            .make_trainer(context, std::move(plan))
                            ->evaluate(0, problem.x, problem.clean, problem.steps_left, gradient);
    check_loss<float>(file, prefix_of(kind), loss, gradient, result);
  }
}

}  // namespace

Verification verify_csbm(const Context& context, const GoldenFile& file) {
  Verification result;
  if (context.device != Device::kCpu) {
    check_on_device(context, file, result);
    return result;
  }
  check_network<double>(context, file, result);
  check_network<float>(context, file, result);
  return result;
}

}  // namespace bridgemark
