#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bridgemark/backend/cpu/simd/tile_product.h"
#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/core/array.h"

// The categories that matter to a row of the batch. Where the reference moves little, most of row
// b's source row q = Q_rest[x,:] is negligible: its band leaves out what sums up, at each end of q,
// to at most e q[x1], with e = 2^-p rho / 2, p the bits of T, and rho the lowest scaled core (the
// highest is 1) of the components concerned. Then nothing that is left out exceeds T's rounding:
//   - R is at least rho, so it changes by less than 2^-p of itself;
//   - y[s] is at least rho C, with C = sum_k (W / R)[k], and loses at most C times what
//     Q_{rest-1}[s,:] has outside the band. The model gives s the weight Q_1[x,s] y[s], the target
//     Q_1[x,s] Q_{rest-1}[s,x1] / q[x1] <= Q_1[x,s] / q[x1]. As sum_s Q_1[x,s] Q_{rest-1}[s,t] is
//     q[t], both enter the loss and d loss / d V with an error below 2^-p;
//   - a category s with Q_1[x,s] < 4 e q[x1] is itself negligible by these weights (counts_from).
//     For any other y[s] stays above rho C / 2, so none leaves its range for want of a term.
// Blocks of components whose cores are farther apart have wider bands: those are the levels.
namespace bridgemark::backend::cpu {

template <typename T>
class MatchingBands {
 public:
  // Lowest scaled cores for which the bands of a level are good; the last level has all categories.
  static constexpr std::array<T, 4> kLowest = {T(0x1p-8), T(0x1p-12), T(0x1p-24), T(0)};
  static constexpr std::size_t kLevels = kLowest.size();

  // The level of a block whose lowest scaled core this is.
  static constexpr std::size_t level_of(T lowest) {
    std::size_t level = 0;
    while (lowest < kLowest[level]) ++level;
    return level;
  }

  // With `all` every band has all categories.
  MatchingBands(const ChainTables<T>& chain, StatesView x_n, StatesView x1,
                std::span<const std::int32_t> n, bool all);

  std::size_t num_rows() const { return B_; }
  std::size_t num_categories() const { return S_; }

  // Makes dimension d ready for blocks of these levels.
  using Levels = std::bitset<kLevels>;
  void find(std::size_t d, Levels used);
  bool uses(std::size_t d, std::size_t level) const { return used_[d][level]; }

  // Rows of the batch, those with like bands beside each other.
  std::span<const std::uint32_t> order(std::size_t d) const { return {order_.data() + d * B_, B_}; }

  // Categories of a row.
  Band band(std::size_t d, std::size_t level, std::size_t b) const {
    return bands_[(d * kLevels + level) * B_ + b];
  }

  // For products: the categories of groups of rows in their order, and the rows of groups of
  // categories.
  std::span<const Band> bands_of_rows(std::size_t d, std::size_t level) const {
    return {joint_bands_.data() + (d * kLevels + level) * num_groups(B_), num_groups(B_)};
  }
  std::span<const Terms> categories_of_rows(std::size_t d, std::size_t level) const {
    return {by_row_.data() + (d * kLevels + level) * num_groups(B_), num_groups(B_)};
  }
  std::span<const Terms> rows_of_categories(std::size_t d, std::size_t level) const {
    return {by_category_.data() + (d * kLevels + level) * num_groups(S_), num_groups(S_)};
  }

  // The lowest log Q_1[x,s] with which a category of the next step counts.
  T counts_from(std::size_t d, std::size_t b) const;

 private:
  const T* source(std::size_t b, std::size_t d) const;
  // e q[x1], or 0 where all categories count.
  T negligible(std::size_t d, std::size_t level, std::size_t b) const;
  void list_terms(std::size_t d, std::size_t level);
  std::size_t lowest_level(std::size_t d) const {
    std::size_t level = 0;
    while (!used_[d][level]) ++level;
    return level;
  }

  const ChainTables<T>& chain_;
  StatesView x_;
  StatesView x1_;
  std::span<const std::int32_t> n_;
  bool all_;
  std::size_t S_, B_;
  std::vector<Levels> used_;                 // [D]
  std::vector<std::uint32_t> order_;         // [D,B]
  std::vector<Band> bands_;                  // [D,levels,B]
  std::vector<Band> joint_bands_;            // [D,levels,groups]
  std::vector<std::uint32_t> categories_;    // 0, 1, .., S-1, 0
  std::unique_ptr<std::uint32_t[]> rows_;    // [D,levels,groups of categories,B+2]
  std::vector<Terms> by_row_, by_category_;  // [D,levels,groups]
};

}  // namespace bridgemark::backend::cpu
