#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bridgemark/backend/plan/factored_power.h"
#include "bridgemark/backend/plan/tree_tables.h"
#include "bridgemark/bridge/tilted_chain.h"
#include "bridgemark/core/array.h"
#include "bridgemark/math/hidden_chain.h"

namespace bridgemark {

// Components of a potential as seen from x0.
struct ComponentGroups {
  std::vector<double> log_beta;  // [G]
  Array3<double> log_from;       // [D,S,G]
};

// What the reverse of a bridge, q(x0|x1) in proportion to p0(x0) q_ref(x1|x0) / c(x0), is made of;
// shared by all targets x1.
struct ReverseTables {
  std::vector<double> log_beta;  // [K]
  Array3<double> log_from;       // [D,S,K]: log u_k^d(x0^d), the cores as seen from x0
  // p0 is a mixture of parts with independent coordinates each, or a hidden chain: one part.
  std::vector<double> log_parts;                    // [J]: of their shares
  std::vector<Matrix<double>> log_p0;               // [J][D,S]; of a chain empty
  std::shared_ptr<const SourceChain> source_chain;  // null: a mixture
  Matrix<double> log_q_into;  // [x1,x0] = log q_ref(x1|x0): a target reads whole rows
  std::shared_ptr<const backend::FactoredPower> log_q_factors;  // in its place, without tables
  Array3<double> log_moves;  // [D-1,K,K] of a chain potential, [M-1,K,K] of a tree; empty: CP

  // Of a CP potential alone: fewer components, whose sum is nowhere above that of all
  // (component_groups.h). Envelopes are made of them.
  ComponentGroups groups;

  // Of a chain alone: exponentials, each row scaled to a maximum of 1.
  Matrix<double> start;  // [1,K], of log_beta
  Matrix<double> moves;  // [D-1,K*K]
  Matrix<double> from;   // [D*S,K]

  // Of a tree alone, with log_from as what it emits.
  std::shared_ptr<const TreeShape> shape;
  std::shared_ptr<const backend::TreeTables> tree;

  bool is_chain() const { return log_moves.size() > 0 && !tree; }
  std::size_t dim() const { return log_from.extent(0); }
  std::size_t num_categories() const { return log_from.extent(1); }
  std::size_t num_parts() const { return log_parts.size(); }

  // log q_ref(x1|x0) for a category of either end, and for all x0 [S]: kept here, or in `made`.
  double log_into(std::int32_t x1, std::int32_t x0) const;
  const double* log_into(std::int32_t x1, std::vector<double>& made) const;

  // p0^d(s), [D,S].
  Matrix<double> source_marginals() const;

  // log p0(x0).
  double log_source(const std::int32_t* x0) const;

  // out[d,s] = log of p0 at x0 with s at coordinate d, up to a constant of d.
  void log_source_around(const std::int32_t* x0, Matrix<double>& out) const;

  // Makes the linear tables of a chain.
  void set_linear();

  // How much scratch the sums over components of one x0 take.
  std::size_t sum_scratch_size() const { return tree ? tree->scratch_size() : 2 * log_beta.size(); }

  // The chain of components, with log_from as what it emits.
  HiddenChain chain() const;

  // others[d,k] = log of the sum over components that have k at coordinate d, the factor
  // u_k^d(x0^d) left out.
  void log_others(const std::int32_t* x0, double* others) const;
};

}  // namespace bridgemark
