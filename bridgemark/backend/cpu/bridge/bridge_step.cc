#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "bridgemark/backend/cpu/cpu_backend.h"
#include "bridgemark/backend/plan/next_state.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/hidden_tree.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend::cpu {

namespace {

// out[k] = log_beta[k] + sum_d log_u[d, x[d], k].
void add_components(const double* log_beta, const Array3<double>& log_u, const std::int32_t* x,
                    double* out) {
  const std::size_t D = log_u.extent(0), K = log_u.extent(2);
  std::copy_n(log_beta, K, out);
  for (std::size_t d = 0; d < D; ++d) {
    const double* row = log_u.row(d, static_cast<std::size_t>(x[d]));
    for (std::size_t k = 0; k < K; ++k) out[k] += row[k];
  }
}

// The component of a row's coordinates: one for all.
class OneComponent {
 public:
  explicit OneComponent(const BridgeStep& step)
      : step_(step), weights_(step.num_components), sums_(step.num_components) {}

  void draw(const std::int32_t* x, DrawSequence& draws) {
    add_components(step_.log_beta.data(), step_.log_from, x, weights_.data());
    cumulate_log(weights_.data(), weights_.size(), sums_.data());
    component_ = draw_category(sums_.data(), sums_.size(), draws.uniform());
  }
  std::size_t of(std::size_t) const { return component_; }

 private:
  const BridgeStep& step_;
  std::vector<double> weights_, sums_;
  std::size_t component_ = 0;
};

// The same where they are a path of a hidden chain.
class PathOfComponents {
 public:
  explicit PathOfComponents(const BridgeStep& step)
      : chain_(step.chain()),
        uniforms_(step.dim),
        scratch_((step.dim + 1) * step.num_components),
        path_(step.dim) {}

  void draw(const std::int32_t* x, DrawSequence& draws) {
    // The uniforms first: the path may take them twice.
    for (double& value : uniforms_) value = draws.uniform();
    draw_path(
        chain_, x, [&](std::size_t d) { return uniforms_[d]; }, path_.data(), scratch_.data());
  }
  std::size_t of(std::size_t d) const { return static_cast<std::size_t>(path_[d]); }

 private:
  HiddenChain chain_;
  std::vector<double> uniforms_, scratch_;
  std::vector<std::int32_t> path_;
};

// The same where they are the states of a hidden tree's nodes.
class StatesOfNodes {
 public:
  explicit StatesOfNodes(const BridgeStep& step)
      : tree_(step.tree->view()),
        uniforms_(tree_.M),
        scratch_(step.tree->scratch_size()),
        states_(tree_.M) {}

  void draw(const std::int32_t* x, DrawSequence& draws) {
    for (double& value : uniforms_) value = draws.uniform();
    draw_states(
        tree_, x, [&](std::size_t i) { return uniforms_[i]; }, states_.data(), scratch_.data());
  }
  std::size_t of(std::size_t d) const { return static_cast<std::size_t>(states_[tree_.node(d)]); }

 private:
  HiddenTree tree_;
  std::vector<double> uniforms_, scratch_;
  std::vector<std::int32_t> states_;
};

template <typename Components>
void sample_rows(const BridgeStep& step, StatesView x, const DrawKey& key,
                 std::uint64_t first_index, MutableStatesView out) {
  const std::size_t D = step.dim, S = step.num_categories, K = step.num_components;
  const bool tabulated = step.cumulative.size() > 0;
  std::vector<double> sums(S);
  Components components(step);
  for (std::size_t b = 0; b < x.rows; ++b) {
    DrawSequence draws(key, first_index + b);
    const std::int32_t* from = x.row(b);
    std::int32_t* to = out.row(b);
    components.draw(from, draws);
    const auto row_of_component = [&](std::size_t d) { return d * K + components.of(d); };
    if (tabulated) {
      const auto tabulated_sums = [&](std::size_t d) {
        return step.cumulative.row(row_of_component(d) * S + static_cast<std::size_t>(from[d]));
      };
      draw_categories(D, S, tabulated_sums, draws, to);
      continue;
    }
    for (std::size_t d = 0; d < D; ++d) {
      to[d] = static_cast<std::int32_t>(draw_next_state(step, static_cast<std::size_t>(from[d]),
                                                        row_of_component(d), draws, sums));
    }
  }
}

}  // namespace

void CpuBackend::log_mixture(const Context& context, std::span<const double> log_beta,
                             const Array3<double>& log_u, StatesView x,
                             std::span<double> out) const {
  const std::size_t K = log_u.extent(2), grain = prompt_grain(256, log_u.extent(0) * K);
  parallel_blocks(context, x.rows, grain, [&](std::size_t first, std::size_t last) {
    std::vector<double> weights(K);
    for (std::size_t b = first; b < last; ++b) {
      add_components(log_beta.data(), log_u, x.row(b), weights.data());
      out[b] = log_sum(weights.data(), K);
    }
  });
}

namespace {

// Exponentials of blocks of `count` logarithms, each block scaled to a maximum of 1, and the
// logarithms of what the blocks were scaled by.
struct ScaledBlocks {
  ScaledBlocks(const double* log, std::size_t blocks, std::size_t count)
      : linear(blocks * count), log_scale(blocks) {
    for (std::size_t b = 0; b < blocks; ++b) {
      const double* from = log + b * count;
      const double high = *std::max_element(from, from + count);
      log_scale[b] = high;
      for (std::size_t i = 0; i < count; ++i) {
        linear[b * count + i] = high == kLogZero ? 0.0 : std::exp(from[i] - high);
      }
    }
  }

  std::vector<double> linear, log_scale;
};

// log_all_paths() for many rows of one chain: products of scaled numbers, or the log domain where
// underflow may have taken something.
class AllPaths {
 public:
  explicit AllPaths(const HiddenChain& chain)
      : chain_(chain),
        start_(chain.log_start, 1, chain.K),
        moves_(chain.log_moves, chain.D - 1, chain.K * chain.K),
        emission_(chain.log_emission, chain.D * chain.S, chain.K),
        log_scale_(std::accumulate(moves_.log_scale.begin(), moves_.log_scale.end(),
                                   start_.log_scale[0])) {}

  // scratch [2,K].
  double operator()(const std::int32_t* x, double* scratch) const {
    constexpr double kPrecision = 1e-20;  // of the total, that may be lost
    const std::size_t K = chain_.K;
    double *last = scratch, *next = scratch + K;
    std::copy_n(start_.linear.data(), K, last);
    double lost = 0.0, log_scale = log_scale_;
    for (std::size_t d = 0; d < chain_.D; ++d) {
      const std::size_t at = d * chain_.S + static_cast<std::size_t>(x[d]);
      const double* emission = emission_.linear.data() + at * K;
      log_scale += emission_.log_scale[at];
      if (d + 1 == chain_.D) {
        double total = 0.0;
        for (std::size_t k = 0; k < K; ++k) total += last[k] * emission[k];
        if (lost_to_underflow(lost, total, K) < kPrecision) return std::log(total) + log_scale;
        break;
      }
      const double high =
          scaled_paths_step(last, emission, moves_.linear.data() + d * K * K, K, next);
      if (!(high > 0.0)) break;
      lost = lost_to_underflow(lost, high, K);
      log_scale += std::log(high);
      std::swap(last, next);
    }
    return log_all_paths(chain_, x, scratch);
  }

 private:
  HiddenChain chain_;
  ScaledBlocks start_, moves_, emission_;
  double log_scale_;
};

}  // namespace

void CpuBackend::log_chain(const Context& context, std::span<const double> log_start,
                           const Array3<double>& log_moves, const Array3<double>& log_u,
                           StatesView x, std::span<double> out) const {
  const HiddenChain chain = log_hidden_chain(log_u.extent(0), log_u.extent(1), log_u.extent(2),
                                             log_start.data(), log_moves.data(), log_u.data());
  const AllPaths all_paths(chain);
  const std::size_t grain = prompt_grain(64, chain.D * chain.K * chain.K);
  parallel_blocks(context, x.rows, grain, [&](std::size_t first, std::size_t last) {
    std::vector<double> scratch(2 * chain.K);
    for (std::size_t b = first; b < last; ++b) {
      out[b] = all_paths(x.row(b), scratch.data());
    }
  });
}

void CpuBackend::log_tree(const Context& context, const TreeShape& shape,
                          std::span<const double> log_root, const Array3<double>& log_moves,
                          const Array3<double>& log_u, StatesView x, std::span<double> out) const {
  const TreeTables tree(context, shape, log_root, log_moves, log_u);
  const std::size_t grain = prompt_grain(64, tree.scratch_size() * log_root.size());
  parallel_blocks(context, x.rows, grain, [&](std::size_t first, std::size_t last) {
    std::vector<double> scratch(tree.scratch_size());
    for (std::size_t b = first; b < last; ++b) out[b] = tree.log_all(x.row(b), scratch.data());
  });
}

void CpuBackend::sample_bridge_step(const Context& context, const BridgeStep& step, StatesView x,
                                    const DrawKey& key, std::uint64_t first_index,
                                    MutableStatesView out) const {
  const std::size_t K = step.num_components, components = step.is_chain() ? K * K : K;
  const std::size_t of_tree = step.tree ? step.tree->num_nodes() * K * K : 0;
  const std::size_t grain =
      prompt_grain(512, step.dim * (components + step.num_categories) + of_tree);
  parallel_blocks(context, x.rows, grain, [&](std::size_t first, std::size_t last) {
    const StatesView from = x.slice(first, last - first);
    const MutableStatesView to = out.slice(first, last - first);
    if (step.tree) {
      sample_rows<StatesOfNodes>(step, from, key, first_index + first, to);
    } else if (step.is_chain()) {
      sample_rows<PathOfComponents>(step, from, key, first_index + first, to);
    } else {
      sample_rows<OneComponent>(step, from, key, first_index + first, to);
    }
  });
}

void CpuBackend::sample_product_rows(const Context& context, const ScaledRows& left,
                                     const ScaledRows& right, StatesView left_rows,
                                     StatesView right_rows, const DrawKey& key,
                                     std::uint64_t first_index, MutableStatesView out) const {
  const std::size_t D = out.cols, S = left.cols(), grain = prompt_grain(512, D * S);
  parallel_blocks(context, out.rows, grain, [&](std::size_t first, std::size_t last) {
    std::vector<double> sums(S);
    for (std::size_t b = first; b < last; ++b) {
      DrawSequence draws(key, first_index + b);
      for (std::size_t d = 0; d < D; ++d) {
        const auto i = static_cast<std::size_t>(left_rows(b, d));
        const auto j = static_cast<std::size_t>(right_rows(b, d));
        cumulate_product(left.linear.row(i), right.linear.row(j), left.log.row(i), right.log.row(j),
                         S, sums.data());
        out(b, d) = static_cast<std::int32_t>(draw_category(sums.data(), S, draws.uniform()));
      }
    }
  });
}

}  // namespace bridgemark::backend::cpu
