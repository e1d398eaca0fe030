#include "bridgemark/bridge/enumerated_coupling.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

bool EnumeratedCoupling::can_enumerate(std::size_t dim, int num_categories) {
  std::size_t count = 1;
  for (std::size_t d = 0; d < dim; ++d) {
    count *= static_cast<std::size_t>(num_categories);
    if (count > kMaxStates) return false;
  }
  return true;
}

States EnumeratedCoupling::all_states(std::size_t dim, int num_categories) {
  if (!can_enumerate(dim, num_categories)) {
    throw_invalid("coupling", "a space to list may have at most {} states, got {}^{}", kMaxStates,
                  num_categories, dim);
  }
  const auto S = static_cast<std::size_t>(num_categories);
  std::size_t count = 1;
  for (std::size_t d = 0; d < dim; ++d) count *= S;
  States states(count, dim);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    for (std::size_t d = dim; d-- > 0; rest /= S) {
      states(i, d) = static_cast<std::int32_t>(rest % S);
    }
  }
  return states;
}

EnumeratedCoupling::EnumeratedCoupling(std::size_t dim, int num_categories,
                                       Matrix<double> log_joint)
    : dim_(dim),
      num_categories_(num_categories),
      states_(all_states(dim, num_categories)),
      log_conditional_(std::move(log_joint)),
      cumulative_(states_.rows(), states_.rows()) {
  const std::size_t count = states_.rows();
  if (log_conditional_.rows() != count || log_conditional_.cols() != count) {
    throw_invalid("coupling", "log_joint must have shape [{0}, {0}], got [{1}, {2}]", count,
                  log_conditional_.rows(), log_conditional_.cols());
  }
  for (std::size_t i = 0; i < count; ++i) {
    double* row = log_conditional_.row(i);
    // A state that never occurs still gets an answer: any is as good.
    if (log_sum(row, count) == kLogZero) std::fill_n(row, count, 0.0);
    log_normalize(row, count);
    cumulate_log(row, count, cumulative_.row(i));
  }
}

std::size_t EnumeratedCoupling::number(const std::int32_t* state) const {
  std::size_t index = 0;
  for (std::size_t d = 0; d < dim_; ++d) {
    index = index * static_cast<std::size_t>(num_categories_) + static_cast<std::size_t>(state[d]);
  }
  return index;
}

void EnumeratedCoupling::sample(const Context& context, StatesView x0, const DrawKey& key,
                                std::uint64_t first_index, MutableStatesView x1) const {
  check_states("x0", x0, dim_, num_categories_);
  parallel_blocks(context, x0.rows, 512, [&](std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      DrawSequence draws(key, first_index + b);
      const double* row = cumulative_.row(number(x0.row(b)));
      const std::size_t drawn = draw_category(row, states_.rows(), draws.uniform());
      std::copy_n(states_.row(drawn), dim_, x1.row(b));
    }
  });
}

void EnumeratedCoupling::log_marginals(const Context& context, StatesView x0,
                                       Array3<double>& out) const {
  check_states("x0", x0, dim_, num_categories_);
  out = Array3<double>(x0.rows, dim_, static_cast<std::size_t>(num_categories_), 0.0);
  parallel_blocks(context, x0.rows, 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      const double* row = log_conditional_.row(number(x0.row(b)));
      for (std::size_t j = 0; j < states_.rows(); ++j) {
        const double p = std::exp(row[j]);
        for (std::size_t d = 0; d < dim_; ++d)
          out(b, d, static_cast<std::size_t>(states_(j, d))) += p;
      }
      for (std::size_t i = 0; i < dim_ * out.extent(2); ++i) {
        out.row(b, 0)[i] = std::log(out.row(b, 0)[i]);
      }
    }
  });
}

void EnumeratedCoupling::log_conditional(const Context&, StatesView x0, StatesView x1,
                                         std::span<double> out) const {
  check_states("x0", x0, dim_, num_categories_);
  check_states("x1", x1, dim_, num_categories_);
  if (x0.rows != x1.rows) {
    throw_invalid("coupling", "x0 and x1 must have the same rows, got {} and {}", x0.rows, x1.rows);
  }
  for (std::size_t b = 0; b < x0.rows; ++b) {
    out[b] = log_conditional_(number(x0.row(b)), number(x1.row(b)));
  }
}

}  // namespace bridgemark
