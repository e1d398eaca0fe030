#include "bridgemark/backend/cpu/tree/tree_passes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bridgemark/backend/cpu/simd/gemm.h"
#include "bridgemark/backend/cpu/simd/training_math.h"
#include "bridgemark/math/exact_log_dot.h"

namespace bridgemark::backend::cpu {

namespace {

// The passes of a block of rows.
template <typename T>
class TreeBlock {
 public:
  TreeBlock(const HiddenTreeTables<T>& tables, StatesView x, std::size_t first, std::size_t last,
            TreePassArrays<T>& out)
      : tables_(tables),
        x_(x),
        first_(first),
        rows_(last - first),
        M_(tables.shape.num_nodes()),
        K_(tables.K),
        size_(rows_ * K_),
        out_(out),
        up_(M_ * size_),
        running_(M_ * size_),
        outside_(M_ * size_),
        scaled_(size_),
        product_(size_),
        log_scale_(rows_) {}

  void up(std::span<double> log_total) {
    for (std::size_t i = 0; i < M_; ++i) std::fill_n(below(i), size_, T(0));
    emit([&](std::size_t i) { return below(i); });
    for (std::size_t i = M_ - 1; i > 0; --i) {
      shift(below(i), true);
      exp_shifted(below(i), T(0), size_, scaled_.data());
      multiply(i, below(i), Transpose::kYes, message(up_, i));
      shift(message(up_, i), true);
      for (double& scale : log_scale_) scale += tables_.log_moves_high[i - 1];
      add_into(message(up_, i), size_, below(above(i)));
    }
    shift(below(0), true);
    for (std::size_t r = 0; r < rows_; ++r) {
      double sum = 0.0;
      for (std::size_t k = 0; k < K_; ++k) {
        sum += std::exp(static_cast<double>(tables_.log_root[k]) +
                        static_cast<double>(below(0)[r * K_ + k]));
      }
      log_total[first_ + r] = log_scale_[r] + std::log(sum);
    }
  }

  void down(T weight) {
    set_siblings();
    for (std::size_t r = 0; r < rows_; ++r) {
      std::copy_n(tables_.log_root, K_, message(outside_, 0) + r * K_);
    }
    shift(message(outside_, 0), false);
    set_posterior(0, weight);
    for (std::size_t i = 1; i < M_; ++i) {
      T *from = at(out_.from, i), *to = at(out_.to, i);
      add_into(message(outside_, above(i)), size_, beside(i));
      shift(beside(i), false);
      exp_shifted(beside(i), T(0), size_, from);
      std::copy_n(from, size_, scaled_.data());
      multiply(i, beside(i), Transpose::kNo, message(outside_, i));
      shift(message(outside_, i), false);
      exp_shifted(below(i), T(0), size_, to);
      for (std::size_t r = 0; r < rows_; ++r) {
        T norm = T(0);
        for (std::size_t k = r * K_; k < (r + 1) * K_; ++k) norm += product_[k] * to[k];
        const bool in_range = norm >= kTreeProductFloor<T>;
        out_.exact[i * x_.rows + first_ + r] = in_range ? 0 : 1;
        const T factor = in_range ? weight / norm : T(0);
        for (std::size_t k = r * K_; k < (r + 1) * K_; ++k) to[k] *= factor;
      }
      set_posterior(i, weight);
    }
  }

 private:
  T* at(LargeArray<T>& array, std::size_t i) { return array.data() + (i * x_.rows + first_) * K_; }
  T* below(std::size_t i) { return at(out_.below, i); }
  T* beside(std::size_t i) { return at(out_.beside, i); }
  T* message(std::vector<T>& array, std::size_t i) { return array.data() + i * size_; }
  std::size_t above(std::size_t i) const {
    return static_cast<std::size_t>(tables_.shape.parent()[i]);
  }

  // Adds the emissions of every coordinate to those of its node.
  template <typename OfNode>
  void emit(OfNode&& of_node) {
    for (std::size_t d = 0; d < tables_.shape.dim(); ++d) {
      T* const sums = of_node(static_cast<std::size_t>(tables_.shape.node_of()[d]));
      for (std::size_t r = 0; r < rows_; ++r) {
        const std::size_t own = d * tables_.S + static_cast<std::size_t>(x_(first_ + r, d));
        add_into(tables_.log_emission + own * K_, K_, sums + r * K_);
      }
    }
  }

  // Takes the largest logarithm of each row off it, and counts it where that is asked for.
  void shift(T* log, bool counted) {
    for (std::size_t r = 0; r < rows_; ++r) {
      T* row = log + r * K_;
      const T high = max_of(row, K_);
      for (std::size_t k = 0; k < K_; ++k) row[k] -= high;
      if (counted) log_scale_[r] += static_cast<double>(high);
    }
  }

  // log_out = log of scaled_ times the moves to node i, or their transpose; scaled_ = exp(log).
  void multiply(std::size_t i, const T* log, Transpose transpose, T* log_out) {
    const std::size_t matrix = (i - 1) * K_ * K_;
    gemm(Transpose::kNo, transpose, rows_, K_, K_, T(1), scaled_.data(), K_, tables_.moves + matrix,
         K_, T(0), product_.data(), K_);
    const bool across = transpose == Transpose::kYes;
    const T* log_moves = tables_.log_moves + matrix;
    for (std::size_t r = 0; r < rows_; ++r) {
      const T* product = product_.data() + r * K_;
      if (log_each(product, K_, log_out + r * K_) >= kTreeProductFloor<T>) continue;
      for (std::size_t k = 0; k < K_; ++k) {
        if (product[k] >= kTreeProductFloor<T>) continue;
        const double sum =
            exact_log_dot(log + r * K_, log_moves + (across ? k * K_ : k), across ? 1 : K_, K_);
        log_out[r * K_ + k] = static_cast<T>(sum - tables_.log_moves_high[i - 1]);
      }
    }
  }

  // beside[i] = what the node above i emits and the subtrees beside i, added from both sides.
  void set_siblings() {
    std::fill(running_.begin(), running_.end(), T(0));
    emit([&](std::size_t i) { return message(running_, i); });
    for (std::size_t i = 1; i < M_; ++i) {
      std::copy_n(message(running_, above(i)), size_, beside(i));
      add_into(message(up_, i), size_, message(running_, above(i)));
    }
    std::fill(running_.begin(), running_.end(), T(0));
    for (std::size_t i = M_ - 1; i > 0; --i) {
      add_into(message(running_, above(i)), size_, beside(i));
      add_into(message(up_, i), size_, message(running_, above(i)));
    }
  }

  void set_posterior(std::size_t i, T weight) {
    T* posterior = at(out_.posterior, i);
    std::copy_n(message(outside_, i), size_, posterior);
    add_into(below(i), size_, posterior);
    for (std::size_t r = 0; r < rows_; ++r) {
      T* row = posterior + r * K_;
      const T sum = exp_shifted(row, max_of(row, K_), K_, row);
      for (std::size_t k = 0; k < K_; ++k) row[k] *= weight / sum;
    }
  }

  const HiddenTreeTables<T>& tables_;
  StatesView x_;
  std::size_t first_, rows_, M_, K_, size_;
  TreePassArrays<T>& out_;
  std::vector<T> up_;                // [M,rows,K]: a subtree as seen from the node above
  std::vector<T> running_;           // [M,rows,K]: sums at a node
  std::vector<T> outside_;           // [M,rows,K]: all but the subtree
  std::vector<T> scaled_, product_;  // [rows,K], of the last product
  std::vector<double> log_scale_;    // [rows], of what was taken off on the way up
};

}  // namespace

template <typename T>
void run_tree_passes(const HiddenTreeTables<T>& tables, StatesView x, T weight, std::size_t first,
                     std::size_t last, TreePassArrays<T>& out, std::span<double> log_total) {
  TreeBlock<T> block(tables, x, first, last, out);
  block.up(log_total);
  block.down(weight);
}

template void run_tree_passes<float>(const HiddenTreeTables<float>&, StatesView, float, std::size_t,
                                     std::size_t, TreePassArrays<float>&, std::span<double>);
template void run_tree_passes<double>(const HiddenTreeTables<double>&, StatesView, double,
                                      std::size_t, std::size_t, TreePassArrays<double>&,
                                      std::span<double>);

}  // namespace bridgemark::backend::cpu
