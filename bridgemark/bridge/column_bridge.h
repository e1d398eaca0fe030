#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/array.h"
#include "bridgemark/process/column_reference.h"

namespace bridgemark {

// The bridge of a CP potential v(x) = sum_k beta_k prod_d r_k^d[x^d] whose columns have categories
// and references of their own. Each column is a CP bridge of one coordinate, and all share their
// components: so all that it holds and does grows with the sum of the columns' categories. Where
// all columns are alike it is the CpBridge, and has its draws. Immutable; copies share what was
// prepared. The CPU alone has it.
class ColumnBridge : public Coupling {
 public:
  // log_beta [K], log_cores [total_categories, K], one column after the other. Throws
  // InvalidArgument as CpPotential does. Components that vanish everywhere are dropped.
  ColumnBridge(ColumnReference reference, std::vector<double> log_beta, Matrix<double> log_cores);

  const ColumnReference& reference() const { return reference_; }
  std::size_t num_components() const { return log_beta_.size(); }
  const std::vector<double>& log_beta() const { return log_beta_; }
  Matrix<double> log_cores() const;

  std::size_t dim() const override { return reference_.dim(); }
  // Of the largest column.
  int num_categories() const override { return static_cast<int>(reference_.most_categories()); }

  // out[b] = log v(x[b]), and log c(x0[b]).
  void log_potential(const Context& context, StatesView x, std::span<double> out) const;
  void log_normalizer(const Context& context, StatesView x0, std::span<double> out) const;

  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override;

  bool has_joint() const override { return true; }
  void log_conditional(const Context& context, StatesView x0, StatesView x1,
                       std::span<double> out) const override;

  // out[b, start(d) + s] = log q(x1^d = s | x0[b]), as wide as the columns' categories are many.
  void write_log_column_marginals(const Context& context, StatesView x0,
                                  MatrixView<double> out) const;
  // The same as any coupling writes it, [B, D * num_categories()]: -inf where a column has no such
  // category.
  bool has_marginals() const override { return true; }
  void write_log_marginals(const Context& context, StatesView x0,
                           MatrixView<double> out) const override;

  bool has_transitions(int num_steps) const override;
  void write_log_transition_marginals(const Context& context, int num_steps, int n, StatesView x,
                                      MatrixView<double> out) const override;
  void sample_transition(const Context& context, int num_steps, int n, StatesView x,
                         const DrawKey& key, std::uint64_t first_index,
                         MutableStatesView out) const override;
  void log_transition(const Context& context, int num_steps, int n, StatesView from, StatesView to,
                      std::span<double> out) const override;

 private:
  struct Step;      // what kernels take of a step, column by column
  struct Prepared;  // those asked for last

  std::shared_ptr<const Step> step(const Context& context, int num_steps, int n) const;

  // For each column the cores as seen from step n, [1,S,K].
  std::vector<Array3<double>> propagated_cores(const Context& context, int num_steps, int n) const;

  // out[b] = log phi_n(x[b]), as of Bridge.
  void log_phi(const Context& context, int num_steps, int n, StatesView x,
               std::span<double> out) const;

  // Column d of a row of `out` begins at first_of[d].
  void write_marginals(const Context& context, const Step& step, StatesView x,
                       std::span<const std::size_t> first_of, MatrixView<double> out) const;
  // The same with every column as wide as the largest, -inf in what it has not.
  void write_wide_marginals(const Context& context, const Step& step, StatesView x,
                            MatrixView<double> out) const;

  ColumnReference reference_;
  std::vector<double> log_beta_;
  std::vector<CpBridge> columns_;  // of one coordinate each, their own weights all 1
  std::shared_ptr<Prepared> prepared_;
};

}  // namespace bridgemark
