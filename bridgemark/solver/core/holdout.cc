#include "bridgemark/solver/core/holdout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/philox.h"

namespace bridgemark {

namespace {

constexpr double kLargestShare = 0.9;

std::size_t kept_rows(std::size_t n, double share) {
  // Less a hair, so that a share like 0.1 of 30 rows is 3 of them whatever its last bit.
  const double asked = std::ceil(share * static_cast<double>(n) - 1e-9);
  return std::min(std::max(static_cast<std::size_t>(asked), kLeastHoldoutRows), n / 2);
}

// Whether each of the n rows is kept apart: those that come first in a drawn order.
std::vector<bool> choose_rows(std::size_t n, std::size_t kept, std::uint32_t end) {
  const DrawKey key{0, DrawPurpose::kHoldout, end};
  std::vector<double> drawn(n);
  for (std::size_t i = 0; i < n; ++i) drawn[i] = draw_uniform(key, i, 0);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(drawn[i], i); });
  std::vector<bool> chosen(n, false);
  for (std::size_t i = 0; i < kept; ++i) chosen[order[i]] = true;
  return chosen;
}

States rows_where(const States& states, const std::vector<bool>& chosen, bool wanted) {
  const auto count = static_cast<std::size_t>(std::ranges::count(chosen, wanted));
  States rows(count, states.cols());
  std::size_t next = 0;
  for (std::size_t i = 0; i < states.rows(); ++i) {
    if (chosen[i] == wanted) std::copy_n(states.row(i), states.cols(), rows.row(next++));
  }
  return rows;
}

}  // namespace

OptionSpec holdout_option() {
  return {.key = "holdout",
          .kind = RealRange{0.0, kLargestShare},
          .default_value = "0.2",
          .help = fmt::format("share of the rows, {} at least, that stop and choose; 0: none",
                              kLeastHoldoutRows),
          .rows = RowKind::kThatEnd};
}

OptionSpec refit_option() {
  return {.key = "refit",
          .kind = Choices{{"yes", "no"}},
          .default_value = "yes",
          .help = "train on all rows in the end, as far as those held out said",
          .rows = RowKind::kThatEnd};
}

std::vector<OptionSpec> stopping_options(const char* patience) {
  OptionSpec refit = refit_option();
  refit.use = used_above("holdout", 0);
  return {
      holdout_option(),
      {.key = "patience",
       .kind = IntegerRange{1, 1 << 20},
       .default_value = patience,
       .help = fmt::format("looks at them, one every {} updates, without gain that end a training",
                           kUpdatesPerLook),
       .use = used_above("holdout", 0),
       .rows = RowKind::kThatEnd},
      refit};
}

StoppingSettings read_stopping_settings(const SolverOptions& options) {
  return {options.real("holdout"), options.integer("patience"), options.is("refit", "yes")};
}

Holdout split_holdout(const FitProblem& problem, double share) {
  if (!(share >= 0.0 && share <= kLargestShare)) {
    throw_invalid("options", "holdout must lie in [0, {}], got {}", kLargestShare, share);
  }
  const std::size_t D = problem.dim();
  const DataEnds* ends = problem.data();
  if (!ends || share == 0.0) return {problem, States(0, D), States(0, D)};
  const States& x0 = ends->x0.states();
  const States& x1 = ends->x1.states();
  if (x0.rows() < 2 || x1.rows() < 2) return {problem, States(0, D), States(0, D)};
  const std::vector<bool> apart0 = choose_rows(x0.rows(), kept_rows(x0.rows(), share), 0);
  const std::vector<bool> apart1 = choose_rows(x1.rows(), kept_rows(x1.rows(), share), 1);
  return {FitProblem(rows_where(x0, apart0, false), rows_where(x1, apart1, false), ends->reference),
          rows_where(x0, apart0, true), rows_where(x1, apart1, true)};
}

}  // namespace bridgemark
