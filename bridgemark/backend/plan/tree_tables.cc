#include "bridgemark/backend/plan/tree_tables.h"

#include <cmath>
#include <utility>

namespace bridgemark::backend {

namespace {

ScaledRows scaled_rows_of(const Context& context, const double* log, std::size_t rows,
                          std::size_t cols) {
  return scale_rows(context, Matrix<double>(rows, cols, {log, log + rows * cols}));
}

}  // namespace

TreeTables::TreeTables(const Context& context, TreeShape shape, std::span<const double> log_root,
                       const Array3<double>& log_moves, const Array3<double>& log_emission)
    : shape_(std::move(shape)),
      S_(log_emission.extent(1)),
      root_(scaled_rows_of(context, log_root.data(), 1, log_root.size())),
      moves_(scaled_rows_of(context, log_moves.data(), shape_.num_nodes() - 1,
                            log_root.size() * log_root.size())),
      emission_(scaled_rows_of(context, log_emission.data(), shape_.dim() * S_, log_root.size())),
      log_scale_(root_.high[0]) {
  for (const double high : moves_.high) log_scale_ += high;
}

HiddenTree TreeTables::view() const {
  return {shape_.dim(),           S_,
          root_.cols(),           shape_.num_nodes(),
          shape_.parent().data(), shape_.node_of().data(),
          root_.log.data(),       root_.linear.data(),
          moves_.log.data(),      moves_.linear.data(),
          emission_.log.data(),   emission_.linear.data()};
}

double TreeTables::log_all(const std::int32_t* x, double* scratch) const {
  const HiddenTree tree = view();
  const std::size_t K = tree.K;
  double *below = scratch, *spare = below + tree.M * K, *lost = spare + K;
  double log_total = scaled_subtrees(tree, x, below, lost, spare), total = 0.0;
  for (std::size_t k = 0; k < K; ++k) total += tree.root[k] * below[k];
  if (log_total > kLogZero && lost_to_underflow(lost[0], total, K) < kTreePrecision) {
    log_total += std::log(total) + log_scale_;
    for (std::size_t d = 0; d < tree.D; ++d) {
      log_total += emission_.high[d * S_ + static_cast<std::size_t>(x[d])];
    }
    return log_total;
  }
  return log_all_states(tree, x, scratch);
}

}  // namespace bridgemark::backend
