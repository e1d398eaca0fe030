#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/core/error.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"
#include "bridgemark/verify/verify_kinds.h"

// The losses and gradients of DLightSB and DLightSB-M, in float64 as stored and in float32 relative
// to the largest entry of the tensor. A device has them in its trainer alone: in float32, without
// the values beside the loss.
namespace bridgemark {

namespace {

struct Shape {
  std::size_t dim, num_categories, num_components, batch;
};

Shape read_shape(const GoldenFile& file, const char* states) {
  const auto positive = [&](const char* key) {
    return static_cast<std::size_t>(std::max(file.integer(key), 0));
  };
  if (file.tensors.shape(states).size() != 2) {
    throw_file(file.path, "tensor '{}' must have two axes", states);
  }
  return {positive("dim"), positive("num_categories"), positive("num_components"),
          file.tensors.shape(states)[0]};
}

States read_states(const GoldenFile& file, const char* name, const Shape& shape) {
  return file.states(name, shape.batch, shape.dim, static_cast<int>(shape.num_categories));
}

std::vector<std::int32_t> read_steps(const GoldenFile& file, const Shape& shape) {
  file.tensors.expect_shape("n", std::vector{shape.batch});
  std::vector<std::int32_t> n = file.tensors.read_int32("n");
  const int last = file.chain().num_steps() - 1;
  for (const std::int32_t step : n) {
    if (step < 0 || step > last) {
      throw_file(file.path, "tensor 'n' must lie in 0..{}, got {}", last, step);
    }
  }
  return n;
}

template <typename T>
backend::CpTensors<T> read_parameters(const GoldenFile& file, const Shape& shape) {
  const auto [D, S, K, B] = shape;
  file.tensors.expect_shape("log_beta", std::vector{K});
  file.tensors.expect_shape("log_cores", std::vector{D, S, K});
  backend::CpTensors<T> parameters(D, S, K);
  const std::vector<double> beta = file.tensors.read_doubles("log_beta");
  const std::vector<double> cores = file.tensors.read_doubles("log_cores");
  std::transform(beta.begin(), beta.end(), parameters.log_beta.begin(),
                 [](double value) { return static_cast<T>(value); });
  std::transform(cores.begin(), cores.end(), parameters.log_cores.begin(),
                 [](double value) { return static_cast<T>(value); });
  return parameters;
}

template <typename T>
void check_static(const Context& context, const GoldenFile& file, Verification& result) {
  const Shape shape = read_shape(file, "x0");
  const States x0 = read_states(file, "x0", shape), x1 = read_states(file, "x1", shape);
  const auto parameters = read_parameters<T>(file, shape);
  const auto tables = make_chain_tables<T>(context, file.chain());
  backend::CpTensors<T> gradient(shape.dim, shape.num_categories, shape.num_components);
  backend::CpWorkspace<T> workspace;
  std::vector<double> log_c(shape.batch), log_v(shape.batch);
  const double loss = backend::of(context).static_loss(context, parameters, tables, x0, x1,
                                                       gradient, workspace, log_c, log_v);
  add_training_check<T>(file, "log_c", log_c, result);
  add_training_check<T>(file, "log_v", log_v, result);
  add_training_check<T>(file, "loss", std::vector{loss}, result);
  add_training_check<T>(file, "grad_log_beta", gradient.log_beta, result);
  add_training_check<T>(file, "grad_log_cores", gradient.log_cores, result);
}

template <typename T>
void check_matching(const Context& context, const GoldenFile& file, Verification& result) {
  const Shape shape = read_shape(file, "x1");
  const States x_n = read_states(file, "x_n", shape), x1 = read_states(file, "x1", shape);
  const std::vector<std::int32_t> n = read_steps(file, shape);
  const auto parameters = read_parameters<T>(file, shape);
  const auto tables = make_chain_tables<T>(context, file.chain());
  backend::CpTensors<T> gradient(shape.dim, shape.num_categories, shape.num_components);
  backend::CpWorkspace<T> workspace;
  std::vector<double> log_model(shape.batch * shape.dim * shape.num_categories),
      target(log_model.size());
  for (const backend::MatchingLoss kind :
       {backend::MatchingLoss::kKl, backend::MatchingLoss::kMse}) {
    const std::string prefix = kind == backend::MatchingLoss::kKl ? "kl_" : "mse_";
    const double loss = backend::of(context).matching_loss(
        context, parameters, tables, kind, x_n, x1, n, gradient, workspace, log_model, target);
    if (kind == backend::MatchingLoss::kKl) {
      add_training_check<T>(file, "target", target, result);
      add_training_check<T>(file, "log_model", log_model, result);
    }
    add_training_check<T>(file, prefix + "loss", std::vector{loss}, result);
    add_training_check<T>(file, prefix + "grad_log_beta", gradient.log_beta, result);
    add_training_check<T>(file, prefix + "grad_log_cores", gradient.log_cores, result);
  }
}

void check_on_device(const Context& context, const GoldenFile& file,
                     std::optional<backend::MatchingLoss> matching, const std::string& prefix,
                     const char* points, std::span<const std::int32_t> n, Verification& result) {
  const Shape shape = read_shape(file, "x1");
  const ReferenceChain chain = file.chain();
  backend::CpTrainerPlan plan;
  plan.start = read_parameters<float>(file, shape);
  plan.matching = matching;
  plan.batch_size = shape.batch;
  plan.chain = make_chain_tables<float>({}, chain);
  // Rows that a training would draw; nothing is drawn here.
  plan.x0.cumulative = plan.x1.cumulative = Matrix<double>(shape.dim, shape.num_categories, 1.0);
  if (matching) plan.pinned = pinned_rows({}, chain, 0);
  const States x = read_states(file, points, shape), x1 = read_states(file, "x1", shape);
  backend::CpTensors<float> gradient;
  const double value =
      backend::of(context).make_trainer(context, std::move(plan))->evaluate(x, x1, n, gradient);
  add_training_check<float>(file, prefix + "loss", std::vector{value}, result);
  add_training_check<float>(file, prefix + "grad_log_beta", gradient.log_beta, result);
  add_training_check<float>(file, prefix + "grad_log_cores", gradient.log_cores, result);
}

}  // namespace

Verification verify_dlightsb(const Context& context, const GoldenFile& file) {
  Verification result;
  if (context.device != Device::kCpu) {
    check_on_device(context, file, std::nullopt, "", "x0", {}, result);
    return result;
  }
  check_static<double>(context, file, result);
  check_static<float>(context, file, result);
  return result;
}

Verification verify_dlightsbm(const Context& context, const GoldenFile& file) {
  Verification result;
  if (context.device != Device::kCpu) {
    const std::vector<std::int32_t> n = read_steps(file, read_shape(file, "x1"));
    check_on_device(context, file, backend::MatchingLoss::kKl, "kl_", "x_n", n, result);
    check_on_device(context, file, backend::MatchingLoss::kMse, "mse_", "x_n", n, result);
    return result;
  }
  check_matching<double>(context, file, result);
  check_matching<float>(context, file, result);
  return result;
}

}  // namespace bridgemark
