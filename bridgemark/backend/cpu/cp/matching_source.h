#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bridgemark/backend/cpu/cp/matching_bands.h"
#include "bridgemark/backend/cpu/cp/matching_factor.h"
#include "bridgemark/backend/cpu/cp/rank_one_product.h"
#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/core/array.h"

// The states of a batch's rows as sources: row b of dimension d has the source row Q_rest[x,:],
// with which it mixes the cores. A reference of rank one needs no product for it.
namespace bridgemark::backend::cpu {

template <typename T>
class MatchingSource {
 public:
  MatchingSource(const ChainTables<T>& chain, const MatchingBands<T>& bands, StatesView x_n,
                 std::span<const std::int32_t> n, CpWorkspace<T>& workspace);

  // Once the bands are found, for all dimensions and then for each.
  void make_room() { rows_.make_room(x_.cols); }
  void gather(std::size_t d);

  // out[b,:] = sum_t Q_rest[x,t] cores[t,:]; cores [S, columns], out [B, columns], in whole
  // vectors, of a block that has this level of bands.
  void multiply(std::size_t d, std::size_t level, const T* cores, std::size_t columns,
                T* out) const;

  // gradient[t,:] = (addend[t,:] + sum_b Q_rest[x,t] terms[b,:]) * cores[t,:] for the first `width`
  // of the columns; rows of the gradient are gradient_stride apart. Uses up the addend.
  void multiply_back(std::size_t d, std::size_t level, const T* terms, T* addend, const T* cores,
                     std::size_t columns, std::size_t width, T* gradient,
                     std::size_t gradient_stride) const;

  // log Q_rest[x,:].
  const double* log_row(std::size_t b, std::size_t d) const;

 private:
  // The source rows of a reference of rank one.
  struct RankOne {
    std::vector<std::size_t> states;
    std::vector<T> identity, uniform;
  };
  RankOneRows<T> rank_one(std::size_t d) const;

  int rest(std::size_t b) const { return chain_.num_steps - n_[b]; }
  std::size_t state(std::size_t b, std::size_t d) const {
    return static_cast<std::size_t>(x_(b, d));
  }

  const ChainTables<T>& chain_;
  StatesView x_;
  std::span<const std::int32_t> n_;
  std::size_t S_, B_;
  MatchingFactor<T> rows_;
  std::vector<RankOne> rank_one_;  // by dimension
};

}  // namespace bridgemark::backend::cpu
