#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "bridgemark/backend/plan/factored_draws.h"
#include "bridgemark/backend/plan/kept_tables.h"
#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/backend/plan/scaled_rows.h"
#include "bridgemark/backend/plan/tree_tables.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/math/hidden_chain.h"

namespace bridgemark::backend {

// Everything a kernel needs to draw x_to given x_from in one step of a bridge: the component k
// falls with weight beta_k prod_d from[d, x^d, k], then coordinate d with weight
// q[x^d, s] * to[d, s, k]. Where the component may change along the coordinates, a path of
// components falls by its weight (math/hidden_chain.h) and each coordinate by its own. The whole
// conditional is the step from 0 to 1. Of a tree potential the states of all nodes fall
// (math/hidden_tree.h), and a coordinate has that of its node.
struct BridgeStep {
  std::size_t dim = 0;
  std::size_t num_categories = 0;
  std::size_t num_components = 0;

  std::vector<double> log_beta;  // [K]
  Array3<double> log_from;       // [D,S,K]: K innermost, a gather reads whole lines; not of a tree
  ScaledRows q;                  // [S,S], or empty, and then there are
  std::shared_ptr<const FactoredDraws> factors;
  ScaledRows to;  // [D*K,S]: S innermost, a draw walks one row

  // Cumulative sums of q[x,:] * to[d*K + k,:] for every (d, k, x), row (d*K + k)*S + x; empty where
  // they were not worth their memory.
  Matrix<double> cumulative;

  // Of a hidden chain alone: its moves [D-1,K,K], and what a path takes on a linear scale.
  Array3<double> log_moves;
  Matrix<double> start;  // [1,K], scaled to a maximum of 1
  Matrix<double> moves;  // [D-1,K*K], each row likewise
  Matrix<double> from;   // [D*S,K], each row likewise

  std::shared_ptr<const TreeTables> tree;  // of a tree potential, else null

  std::shared_ptr<KeptTables> kept = std::make_shared<KeptTables>();  // copies share them

  bool is_chain() const { return log_moves.size() > 0; }
  HiddenChain chain() const;
};

// log_from and log_to are propagated cores [D,S,K]; log_moves are empty where the component keeps
// to all coordinates. With a tree they are those of its nodes.
BridgeStep make_bridge_step(const Context& context, std::vector<double> log_beta,
                            Array3<double> log_from, const Matrix<double>& log_q,
                            const Array3<double>& log_to, const Array3<double>& log_moves = {},
                            const TreeShape* tree = nullptr);
BridgeStep make_bridge_step(const Context& context, std::vector<double> log_beta,
                            Array3<double> log_from, const ReferencePower& q,
                            const Array3<double>& log_to, const Array3<double>& log_moves = {},
                            const TreeShape* tree = nullptr);

// Throws DeviceError where the step has no table of its reference: the CPU alone takes it then.
void require_table(const BridgeStep& step);

// The weights of the reference's next state, one state at a time.
class ReferenceRow {
 public:
  explicit ReferenceRow(const BridgeStep& step) : step_(step) {}

  // What follows is of state x.
  void look_at(std::size_t x);

  const double* log() const { return log_; }
  const double* linear() const { return linear_; }  // scaled to a maximum of 1
  double high() const { return high_; }             // log of what they were scaled by

 private:
  const BridgeStep& step_;
  const double *log_ = nullptr, *linear_ = nullptr;
  double high_ = 0.0;
  std::vector<double> made_log_, made_linear_;  // of a step without a table
  std::size_t made_of_ = static_cast<std::size_t>(-1);
};

// Whether both steps have the same reference, number for number.
bool same_reference(const BridgeStep& a, const BridgeStep& b);

// Whether cumulative sums of such a step fit in memory.
bool can_tabulate(std::size_t dim, std::size_t num_categories, std::size_t num_components);

// What a step is made of, for a device that makes its tables itself.
struct StepPlan {
  std::span<const double> log_beta;  // [K]
  const Array3<double>& log_cores;   // [D,S,K]
  const Array3<double>& log_moves;
  const Matrix<double>& log_q;       // [S,S] of the step
  const Matrix<double>& log_before;  // [S,S] of all that the cores are seen through at its start
  const Matrix<double>* log_after;   // and at its end; null: they are the cores themselves
  KeptTables& cores;                 // what the device keeps of log_cores
};

// Whether cumulative sums would pay for `num_samples` draws and fit in memory.
bool worth_tabulating(const BridgeStep& step, std::size_t num_samples);

// The step with its cumulative sums. A draw is the same with and without them.
BridgeStep tabulated(const Context& context, BridgeStep step);

}  // namespace bridgemark::backend
