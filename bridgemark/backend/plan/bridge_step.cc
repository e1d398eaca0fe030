#include "bridgemark/backend/plan/bridge_step.h"

#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/categorical.h"

namespace bridgemark::backend {

namespace {

// 32 MiB of cumulative sums at the most.
constexpr std::size_t kMaxTableEntries = std::size_t{1} << 22;

}  // namespace

HiddenChain BridgeStep::chain() const {
  return {dim,          num_categories,   num_components, log_beta.data(),
          start.data(), log_moves.data(), moves.data(),   log_from.data(),
          from.data()};
}

namespace {

// All but the reference.
BridgeStep make_tables(const Context& context, std::vector<double> log_beta,
                       Array3<double> log_from, const Array3<double>& log_to,
                       const Array3<double>& log_moves, const TreeShape* tree) {
  BridgeStep step;
  step.dim = log_to.extent(0);
  step.num_categories = log_to.extent(1);
  step.num_components = log_to.extent(2);
  const std::size_t D = step.dim, S = step.num_categories, K = step.num_components;
  step.log_beta = std::move(log_beta);
  step.log_from = std::move(log_from);
  Matrix<double> by_component(D * K, S);
  parallel_blocks(context, D, 1, [&](std::size_t d, std::size_t) {
    for (std::size_t s = 0; s < S; ++s) {
      for (std::size_t k = 0; k < K; ++k) by_component(d * K + k, s) = log_to(d, s, k);
    }
  });
  step.to = scale_rows(context, std::move(by_component));
  if (tree != nullptr) {
    step.tree = std::make_shared<const TreeTables>(context, *tree, step.log_beta, log_moves,
                                                   std::exchange(step.log_from, {}));
    return step;
  }
  if (log_moves.size() == 0) return step;
  step.log_moves = log_moves;
  const auto linear = [&](std::size_t rows, std::size_t cols, const double* log) {
    return scale_rows(context, Matrix<double>(rows, cols, {log, log + rows * cols})).linear;
  };
  step.start = linear(1, K, step.log_beta.data());
  step.moves = linear(D - 1, K * K, log_moves.data());
  step.from = linear(D * S, K, step.log_from.data());
  return step;
}

}  // namespace

BridgeStep make_bridge_step(const Context& context, std::vector<double> log_beta,
                            Array3<double> log_from, const Matrix<double>& log_q,
                            const Array3<double>& log_to, const Array3<double>& log_moves,
                            const TreeShape* tree) {
  BridgeStep step =
      make_tables(context, std::move(log_beta), std::move(log_from), log_to, log_moves, tree);
  step.q = scale_rows(log_q);
  return step;
}

BridgeStep make_bridge_step(const Context& context, std::vector<double> log_beta,
                            Array3<double> log_from, const ReferencePower& q,
                            const Array3<double>& log_to, const Array3<double>& log_moves,
                            const TreeShape* tree) {
  if (const Matrix<double>* const log_q = q.table()) {
    return make_bridge_step(context, std::move(log_beta), std::move(log_from), *log_q, log_to,
                            log_moves, tree);
  }
  BridgeStep step =
      make_tables(context, std::move(log_beta), std::move(log_from), log_to, log_moves, tree);
  step.factors = std::make_shared<const FactoredDraws>(context, q.factors(), step.to);
  return step;
}

void require_table(const BridgeStep& step) {
  if (!step.factors) return;
  throw DeviceError(fmt::format(
      "[bridge] a reference of {} categories has no table, which a step on a device needs; take "
      "--device cpu",
      step.num_categories));
}

void ReferenceRow::look_at(std::size_t x) {
  if (!step_.factors) {
    log_ = step_.q.log.row(x);
    linear_ = step_.q.linear.row(x);
    high_ = step_.q.high[x];
    return;
  }
  if (x == made_of_) return;
  made_of_ = x;
  made_log_.resize(step_.num_categories);
  made_linear_.resize(step_.num_categories);
  high_ = step_.factors->q().scaled_row(x, made_log_.data(), made_linear_.data());
  log_ = made_log_.data();
  linear_ = made_linear_.data();
}

bool same_reference(const BridgeStep& a, const BridgeStep& b) {
  if (!a.factors || !b.factors) return !a.factors && !b.factors && a.q.log == b.q.log;
  const FactoredPower &p = a.factors->q(), &q = b.factors->q();
  return p.log_stay == q.log_stay && p.log_left == q.log_left && p.right->log == q.right->log;
}

bool can_tabulate(std::size_t dim, std::size_t num_categories, std::size_t num_components) {
  return dim * num_components * num_categories * num_categories <= kMaxTableEntries;
}

bool worth_tabulating(const BridgeStep& step, std::size_t num_samples) {
  if (step.factors) return false;
  const std::size_t S = step.num_categories, K = step.num_components;
  if (num_samples < K * S / 2) return false;  // most rows would be used less than once
  return can_tabulate(step.dim, S, K);
}

BridgeStep tabulated(const Context& context, BridgeStep step) {
  const std::size_t S = step.num_categories;
  step.cumulative = Matrix<double>(step.to.rows() * S, S);
  step.kept = std::make_shared<KeptTables>();  // the others have no sums
  parallel_blocks(context, step.cumulative.rows(), 256, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row) {
      const std::size_t x = row % S, component = row / S;
      cumulate_product(step.q.linear.row(x), step.to.linear.row(component), step.q.log.row(x),
                       step.to.log.row(component), S, step.cumulative.row(row));
    }
  });
  return step;
}

}  // namespace bridgemark::backend
