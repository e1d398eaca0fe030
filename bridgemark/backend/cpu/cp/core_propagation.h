#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "bridgemark/backend/cpu/cp/exact_column.h"
#include "bridgemark/backend/plan/cp_tensors.h"

// u = Q r for the cores r of a potential and the reference's whole power Q, and a gradient's way
// back. Components do not meet here, so that blocks of them run beside each other.
namespace bridgemark::backend::cpu {

inline constexpr std::size_t kPropagationBlock =
    128;  // components of a block: it stays in the cache

template <typename T>
class CorePropagation {
 public:
  // log_cores [D,S,K]. Keeps its arrays in the workspace.
  CorePropagation(const T* log_cores, std::size_t D, std::size_t S, std::size_t K,
                  const ChainTables<T>& chain, CpWorkspace<T>& workspace);

  // Sets log_u of dimension d for the components of a block, [first, last).
  void propagate(std::size_t d, std::size_t first, std::size_t last);
  // The same for all components, block after block.
  void propagate(std::size_t d) {
    each_block([&](std::size_t first, std::size_t last) { propagate(d, first, last); });
  }
  const T* log_u() const { return work_.log_product.data(); }  // [D,S,K]

  // Turns a gradient [D,S,K] of log u into one of log r, once after each propagation.
  void pull_back(std::size_t d, std::size_t first, std::size_t last, T* gradient);
  void pull_back(std::size_t d, T* gradient) {
    each_block([&](std::size_t first, std::size_t last) { pull_back(d, first, last, gradient); });
  }

 private:
  template <typename Body>
  void each_block(Body&& body) const {
    for (std::size_t first = 0; first < K_; first += kPropagationBlock) {
      body(first, std::min(K_, first + kPropagationBlock));
    }
  }
  std::size_t core(std::size_t d, std::size_t s) const { return (d * S_ + s) * K_; }
  const T* q() const { return chain_.linear_power(chain_.num_steps); }
  // log Q[s, :]; without a table made in `scratch`.
  const double* log_q_row(std::size_t s, std::vector<double>& scratch) const;
  void multiply_factors(const T* in, std::size_t width, bool transposed, T* out) const;
  std::vector<ExactEntry>& exact(std::size_t d, std::size_t first) {
    return exact_[first / kPropagationBlock * D_ + d];
  }
  void multiply(const T* in, std::size_t width, bool transposed, T* out) const;
  void multiply_rank_one(const T* in, std::size_t width, T* out) const;
  void repair(std::size_t d, std::size_t first, std::size_t last);

  const T* log_cores_;
  std::size_t D_, S_, K_;
  const ChainTables<T>& chain_;
  CpWorkspace<T>& work_;
  std::vector<std::vector<ExactEntry>> exact_;  // by block and dimension
};

}  // namespace bridgemark::backend::cpu
