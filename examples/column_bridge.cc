// A bridge between tables whose columns differ: labels without an order beside grades with one,
// each with a reference of its own. Its conditional is compared with a sum over all 33 states.
#include <bridgemark/bridgemark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace {

using bridgemark::ColumnBridge;
using bridgemark::ColumnReference;
using bridgemark::Context;
using bridgemark::ReferenceProcess;
using bridgemark::States;

constexpr int kLabels = 3, kGrades = 11, kSteps = 16;

// Two components: label 0 goes with low grades, label 2 with high ones.
ColumnBridge make_bridge() {
  const ColumnReference reference({ReferenceProcess::uniform(kLabels, 0.02, kSteps),
                                   ReferenceProcess::gaussian(kGrades, 0.15, kSteps)});
  // A row for each category, one column of the table after the other.
  bridgemark::Matrix<double> log_cores(reference.total_categories(), 2);
  for (std::size_t k = 0; k < 2; ++k) {
    const double label = k == 0 ? 0.0 : 2.0, grade = k == 0 ? 2.0 : 8.0;
    for (std::size_t s = 0; s < kLabels; ++s) {
      log_cores(reference.start(0) + s, k) = -3.0 * std::abs(static_cast<double>(s) - label);
    }
    for (std::size_t s = 0; s < kGrades; ++s) {
      log_cores(reference.start(1) + s, k) = -0.5 * std::abs(static_cast<double>(s) - grade);
    }
  }
  return {reference, {std::log(0.7), std::log(0.3)}, log_cores};
}

States all_states() {
  States states(kLabels * kGrades, 2);
  for (std::size_t i = 0; i < states.rows(); ++i) {
    states(i, 0) = static_cast<std::int32_t>(i / kGrades);
    states(i, 1) = static_cast<std::int32_t>(i % kGrades);
  }
  return states;
}

}  // namespace

int main() {
  const Context context;
  const ColumnBridge bridge = make_bridge();
  const States x1 = all_states();
  const std::size_t count = x1.rows();
  States x0(count, 2);
  for (std::size_t i = 0; i < count; ++i) x0(i, 0) = 1, x0(i, 1) = 5;

  std::vector<double> log_conditional(count), log_v(count), enumerated(count);
  bridge.log_conditional(context, x0, x1, log_conditional);
  bridge.log_potential(context, x1, log_v);
  const auto labels = bridge.reference().column(0).log_power(context, kSteps);
  const auto grades = bridge.reference().column(1).log_power(context, kSteps);
  double sum = 0.0, error = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::size_t>(x1(i, 0)),
               grade = static_cast<std::size_t>(x1(i, 1));
    enumerated[i] = std::exp(labels(1, label) + grades(5, grade) + log_v[i]);
    sum += enumerated[i];
  }
  for (std::size_t i = 0; i < count; ++i) {
    error = std::max(error, std::abs(std::exp(log_conditional[i]) - enumerated[i] / sum));
  }
  const auto likeliest = static_cast<std::size_t>(
      std::max_element(enumerated.begin(), enumerated.end()) - enumerated.begin());
  fmt::print("from label 1, grade 5, the likeliest is label {}, grade {}\n", x1(likeliest, 0),
             x1(likeliest, 1));
  fmt::print("against the sum over all {} states: {}\n", count,
             error < 1e-12 ? "the same to 1e-12" : fmt::format("off by {}", error));
  return error < 1e-12 ? 0 : 1;
}
