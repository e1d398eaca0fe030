#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bridgemark/backend/cpu/cp/component_weights.h"
#include "bridgemark/backend/cpu/cp/exact_column.h"
#include "bridgemark/backend/cpu/cp/matching_source.h"
#include "bridgemark/backend/plan/cp_tensors.h"

// The weights W[b,k] = beta[k] prod_d R_d[b,k] of the components in each row of a batch, and W /
// R_d for one dimension at a time. Each column of cores is scaled to a maximum of 1 (`high`), so R
// is at most 1, and a row's weights are relative to the largest of the row. Entries of R that left
// the range of T are kept exactly, in the log domain.
namespace bridgemark::backend::cpu {

// Components first..first + width; arrays of a block have rows of `columns`, whole vectors, and
// what lies behind the components has weights of 0.
struct ComponentBlock {
  std::size_t index, first, width, columns;
};

template <typename T>
class MatchingWeights {
 public:
  // Components of a block: a product's right factor and a part of its left one fill the nearest
  // cache.
  static constexpr std::size_t kBlock = 64;

  MatchingWeights(const CpTensors<T>& parameters, const MatchingSource<T>& source, std::size_t rows,
                  CpWorkspace<T>& workspace);

  std::size_t num_blocks() const { return blocks_; }
  ComponentBlock block(std::size_t index) const;

  // exp(log_cores - high) [S, columns], 1 / R_d [B, columns] with 0 for exact entries, and those.
  const T* scaled_cores(const ComponentBlock& at, std::size_t d) const;
  const T* inverse(const ComponentBlock& at, std::size_t d) const;
  const std::vector<ExactEntry>& exact(const ComponentBlock& at, std::size_t d) const {
    return exact_[at.index * D_ + d];
  }

  // Level of the block's bands, and those of all blocks.
  std::size_t level(const ComponentBlock& at, std::size_t d) const {
    return levels_[at.index * D_ + d];
  }
  typename MatchingBands<T>::Levels levels(std::size_t d) const;

  // In this order, each for all blocks: scaled cores and levels; R and W; the rows' scales; W
  // relative to them.
  void start(const ComponentBlock& at);
  void propagate(const ComponentBlock& at);
  void find_scales();
  void apply_scales(const ComponentBlock& at);

  // W / R_d for some rows, [rows, columns].
  void divide_out(const ComponentBlock& at, std::size_t d, std::span<const std::uint32_t> rows,
                  T* out) const;

  // log (W / R_d) of row b, of the cores as they are; [K].
  void log_others(std::size_t b, std::size_t d, std::span<double> out) const;

 private:
  T* scaled(const ComponentBlock& at, std::size_t d) const;
  T* inverses(const ComponentBlock& at, std::size_t d) const;
  // Element [b,0] of the block's part of an array of weights.
  template <typename U>
  U* part(LargeArray<U>& array, const ComponentBlock& at, std::size_t b = 0) const {
    return array.data() + B_ * at.first + b * at.columns;
  }
  double high(const ComponentBlock& at, std::size_t d, std::size_t k) const {
    return static_cast<double>(work_.high[d * K_ + at.first + k]);
  }
  void multiply_exact(const ComponentBlock& at, std::size_t d);
  void set_weight(const ComponentBlock& at, std::size_t b, std::size_t k, double log2_weight);
  double log2_weight(const ComponentBlock& at, std::size_t b, std::size_t k) const;
  double log2_others(const ComponentBlock& at, std::size_t d, const ExactEntry& entry) const;
  void lower(const ComponentBlock& at, std::size_t d, std::size_t b, T* row) const;
  T lowered(const ComponentBlock& at, std::size_t d, const ExactEntry& entry) const;

  const CpTensors<T>& parameters_;
  const MatchingSource<T>& source_;
  CpWorkspace<T>& work_;
  std::size_t D_, S_, K_, B_, blocks_;
  std::vector<Exponent<T>> block_scales_, scales_;  // [blocks,B], [B]
  std::vector<double> raises_;                      // [D,B], empty without exact entries
  std::vector<std::size_t> levels_;                 // by block and dimension
  std::vector<std::vector<ExactEntry>> exact_;      // by block and dimension
};

}  // namespace bridgemark::backend::cpu
