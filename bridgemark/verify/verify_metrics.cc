#include <algorithm>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/sample_scores.h"
#include "bridgemark/verify/verify_kinds.h"

namespace bridgemark {

Verification verify_metrics(const Context& context, const GoldenFile& file) {
  constexpr double kTolerance = 1e-5;  // the published code counts in float32
  const int num_categories = file.integer("num_categories");
  const int groups = file.integer("groups");
  const auto D = static_cast<std::size_t>(std::max(file.integer("dim"), 0));
  const SafetensorsFile& tensors = file.tensors;
  if (tensors.shape("real").size() != 2) {
    throw_file(file.path, "tensor 'real' must have shape [n, {}]", D);
  }
  const std::size_t n = tensors.shape("real")[0];
  tensors.expect_shape("real", std::vector{n, D});
  tensors.expect_shape("pred", std::vector{n, D});
  if (groups < 1 || n % static_cast<std::size_t>(groups) != 0) {
    throw_file(file.path, "metadata 'groups' must divide the {} rows, got {}", n, groups);
  }
  const States real(n, D, tensors.read_int32("real")), pred(n, D, tensors.read_int32("pred"));

  const SampleScores all = score_samples(context, real, pred, num_categories);
  const std::size_t rows = n / static_cast<std::size_t>(groups);
  double conditional_shape = 0.0, conditional_trend = 0.0;
  for (std::size_t first = 0; first < n; first += rows) {
    const SampleScores group = score_samples(context, real.view().slice(first, rows),
                                             pred.view().slice(first, rows), num_categories);
    conditional_shape += group.shape / groups;
    conditional_trend += group.trend / groups;
  }

  const auto check = [&](const char* name, double computed) {
    return TensorCheck{name, max_error({&computed, 1}, tensors.read_doubles(name)), kTolerance};
  };
  Verification result;
  result.checks = {check("shape_score", all.shape), check("trend_score", all.trend),
                   check("cond_shape_score", conditional_shape),
                   check("cond_trend_score", conditional_trend),
                   check("mean_marginal_entropy", mean_marginal_entropy(real, num_categories))};
  return result;
}

}  // namespace bridgemark
