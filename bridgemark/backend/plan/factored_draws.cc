#include "bridgemark/backend/plan/factored_draws.h"

#include <algorithm>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/categorical.h"

namespace bridgemark::backend {

FactoredDraws::FactoredDraws(const Context& context, std::shared_ptr<const FactoredPower> q,
                             const ScaledRows& to)
    : q_(std::move(q)), log_mass_(to.rows(), q_->rank()) {
  const ScaledRows& right = *q_->right;
  const std::size_t S = q_->num_categories(), r = q_->rank();
  Matrix<double> by_state(S, r);
  for (std::size_t s = 0; s < S; ++s) {
    for (std::size_t j = 0; j < r; ++j) by_state(s, j) = right.log(j, s);
  }
  const Context host = context.on_host();
  of(host).log_matmul(host, to.log, by_state, log_mass_.view());
  if (r > 1) return;
  sums_ = Matrix<double>(to.rows(), S);
  parallel_blocks(host, to.rows(), 8, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row) {
      cumulate_product(right.linear.row(0), to.linear.row(row), right.log.row(0), to.log.row(row),
                       S, sums_.row(row));
    }
  });
}

std::size_t FactoredDraws::draw(std::size_t x, const ScaledRows& to, std::size_t row,
                                DrawSequence& draws, std::vector<double>& scratch) const {
  const ScaledRows& right = *q_->right;
  const std::size_t S = q_->num_categories(), r = q_->rank();
  scratch.resize(S + r + 1);
  double *sums = scratch.data(), *ways = scratch.data() + S;
  for (std::size_t j = 0; j < r; ++j) ways[j] = q_->log_left(x, j) + log_mass_(row, j);
  ways[r] = q_->log_stay + to.log(row, x);
  cumulate_log(ways, r + 1, ways);
  const std::size_t way = draw_category(ways, r + 1, draws.uniform());
  const double uniform = draws.uniform();
  if (way == r) return x;
  if (sums_.size() > 0) return draw_category(sums_.row(row), S, uniform);
  cumulate_product(right.linear.row(way), to.linear.row(row), right.log.row(way), to.log.row(row),
                   S, sums);
  return draw_category(sums, S, uniform);
}

}  // namespace bridgemark::backend
