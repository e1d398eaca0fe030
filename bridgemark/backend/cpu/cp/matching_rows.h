#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bridgemark/backend/cpu/cp/matching_bands.h"
#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/core/array.h"

// What a row of the batch does with V: y = Q_{rest-1} V, the model's transition, its loss, and back
// to d loss / d V. A row is at one step, so its dimensions share one power of the reference.
namespace bridgemark::backend::cpu {

template <typename T>
class MatchingRows {
 public:
  // log_model and target [B,D,S] are optional outputs.
  MatchingRows(const ChainTables<T>& chain, const MatchingBands<T>& bands, MatchingLoss kind,
               StatesView x_n, StatesView x1, std::span<const std::int32_t> n,
               std::span<double> log_model, std::span<double> target);

  // Elements between dimensions of V and of its gradient.
  std::size_t stride() const { return stride_; }

  // Arrays of one thread; rows at the same step should follow each other.
  struct Scratch {
    explicit Scratch(const MatchingRows& rows);
    int power_rest = 0;                      // whose Q_{rest-1} it is
    std::vector<T> power, power_transposed;  // Q_{rest-1}, 0 behind the categories
    std::vector<T> y, ratio;
    std::vector<T> log_weights, log_target, target, flow;
  };

  // All dimensions of row b: from V [D, stride] to d loss / d V. Returns the loss. A dimension
  // whose y left the range of T is added to `exact` and gets a gradient of 0.
  double match(std::size_t b, const T* mixed, T* back, Scratch& scratch,
               std::vector<std::size_t>& exact);

  // The same in the log domain for one dimension, straight to the cores: with log_others[k] the
  // logarithm of component k's weight in all other dimensions, adds d loss / d log_cores [S,K] and
  // sets d loss / d log_others.
  double match_exactly(std::size_t b, std::size_t d, std::span<const double> log_others,
                       const T* log_cores, T* gradient, T* pulled);

 private:
  int rest(std::size_t b) const { return chain_.num_steps - n_[b]; }
  bool needs_product(std::size_t b) const;
  void load_power(std::size_t b, Scratch& scratch) const;
  void multiply_after(std::size_t b, const T* power, const T* in, T* out) const;
  template <typename U>
  void log_target(std::size_t b, std::size_t d, Band of, U* out) const;
  Band counted(const T* log_one, T counts_from) const;
  template <typename U>
  void keep(std::size_t b, std::size_t d, const U* log_model, const U* target);

  const ChainTables<T>& chain_;
  const MatchingBands<T>& bands_;
  MatchingLoss kind_;
  StatesView x_;
  StatesView x1_;
  std::span<const std::int32_t> n_;
  std::span<double> log_model_;
  std::span<double> target_out_;
  std::size_t D_, S_, stride_;
  std::size_t inner_;  // S in whole vectors of 16 bytes
  std::vector<Band> all_categories_;
  std::vector<T> log_one_;  // log Q_1, [S, stride]
};

}  // namespace bridgemark::backend::cpu
