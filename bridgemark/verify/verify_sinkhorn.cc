#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/math/log_rows.h"
#include "bridgemark/solver/sinkhorn/row_transport.h"
#include "bridgemark/verify/verify_kinds.h"

namespace bridgemark {

namespace {

ReferenceProcess process_of(const GoldenFile& file) {
  const std::string kind = file.text("prior_type");
  const int categories = file.integer("num_categories"), steps = file.integer("total_steps");
  if (kind == "uniform") {
    return ReferenceProcess::uniform(categories, file.number("gamma"), steps);
  }
  if (kind == "gaussian") {
    return ReferenceProcess::gaussian(categories, file.number("gamma"), steps);
  }
  throw_file(file.path, "metadata 'prior_type' must be uniform or gaussian, got '{}'", kind);
}

}  // namespace

// log_plan [n0,n1] of entropic transport between rows of equal weight, cost -log q_ref.
Verification verify_sinkhorn(const Context& context, const GoldenFile& file) {
  constexpr double kTolerance = 1e-10;
  const ReferenceProcess process = process_of(file);
  const SafetensorsFile& tensors = file.tensors;
  for (const char* name : {"x0", "x1"}) {
    const std::vector<std::size_t>& shape = tensors.shape(name);
    if (shape.size() != 2 || shape[0] == 0 || shape[1] == 0) {
      throw_file(file.path, "tensor '{}' must have shape [n,D], both at least 1", name);
    }
  }
  const std::size_t n0 = tensors.shape("x0")[0], n1 = tensors.shape("x1")[0];
  const std::size_t D = tensors.shape("x0")[1];
  const States x0 = file.states("x0", n0, D, process.num_categories());
  const States x1 = file.states("x1", n1, D, process.num_categories());
  tensors.expect_shape("log_plan", {n0, n1});

  const SharedMatrix log_q = process.log_power(context, process.total_steps());
  const auto kernel = backend::of(context).make_row_kernel(context, log_q, x0, x1);
  const RowTransport plan =
      solve_row_transport(context, *kernel, n0, n1, {.tolerance = 1e-13, .max_iterations = 20000});
  std::vector<double> log_plan(n0 * n1);
  for (std::size_t i = 0; i < n0; ++i) {
    for (std::size_t j = 0; j < n1; ++j) {
      log_plan[i * n1 + j] =
          log_of_rows(log_q.data(), log_q.cols(), x0.row(i), x1.row(j), D) + plan.f[i] + plan.h[j];
    }
  }
  Verification result;
  result.checks = {{"log_plan", max_error(log_plan, tensors.read_doubles("log_plan")), kTolerance}};
  return result;
}

}  // namespace bridgemark
