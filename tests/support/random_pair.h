#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bridgemark/pair/benchmark_pair.h"
#include "tests/support/dense_oracle.h"
#include "tests/support/enumerate.h"
#include "tests/support/random_bridge.h"
#include "tests/support/random_tree.h"

// Valid pairs that are drawn at random, and what each must be by sums over all states in long
// doubles: any size that can be listed, every form of the potential, every kind of reference and of
// p0, zeros wherever they are allowed.
namespace bridgemark::testing {

// A pair beside its enumeration. Laws are [M,M] or [M] over the M = S^D states.
struct RandomPair {
  std::string name;
  BenchmarkPair pair;
  States states;
  Wide step;                   // of the reference, elementary, [S,S]
  std::vector<long double> v;  // the potential
  std::vector<long double> p0;

  std::size_t count() const { return states.rows(); }
  int total_steps() const { return pair.bridge().process().total_steps(); }

  // E[v(x1) | x] under the reference, `rest` elementary steps before the end.
  std::vector<long double> phi(int rest) const {
    const Wide q = lift(power(step, rest), states);
    std::vector<long double> out(count());
    for (std::size_t i = 0; i < count(); ++i) {
      for (std::size_t j = 0; j < count(); ++j) out[i] += q(i, j) * v[j];
    }
    return out;
  }

  // q(x_{n+1} | x_n) of a chain of num_steps steps; q(x1 | x0) is transition(1, 0).
  Wide transition(int num_steps, int n) const {
    const int skip = total_steps() / num_steps;
    Wide law = lift(power(step, skip), states);
    const std::vector<long double> before = phi((num_steps - n) * skip),
                                   after = phi((num_steps - n - 1) * skip);
    for (std::size_t i = 0; i < count(); ++i) {
      for (std::size_t j = 0; j < count(); ++j) law(i, j) *= after[j] / before[i];
    }
    return law;
  }

  // The law of x_n.
  std::vector<long double> law_at(int num_steps, int n) const {
    if (n == 0) return p0;
    const int skip = total_steps() / num_steps;
    const Wide q = lift(power(step, n * skip), states);
    const std::vector<long double> c = phi(total_steps()), left = phi(total_steps() - n * skip);
    std::vector<long double> law(count());
    for (std::size_t i = 0; i < count(); ++i) {
      for (std::size_t j = 0; j < count(); ++j) law[j] += p0[i] * q(i, j) * left[j] / c[i];
    }
    return law;
  }

  // out[x,d,s]: the probability that coordinate d is s under row x of a law.
  Array3<long double> marginals(const Wide& law) const {
    const std::size_t D = states.cols(), S = static_cast<std::size_t>(pair.num_categories());
    Array3<long double> out(count(), D, S);
    for (std::size_t i = 0; i < count(); ++i) {
      for (std::size_t j = 0; j < count(); ++j) {
        for (std::size_t d = 0; d < D; ++d) {
          out(i, d, static_cast<std::size_t>(states(j, d))) += law(i, j);
        }
      }
    }
    return out;
  }
};

// Draws the parts of a pair from one generator.
class RandomPairMaker {
 public:
  static constexpr std::size_t kMostStates = 81;

  explicit RandomPairMaker(std::uint64_t seed) : generator_(seed) {}

  RandomPair make() {
    S_ = 2 + below(8);
    std::size_t most = 1;
    for (std::size_t states = S_ * S_; states <= kMostStates; states *= S_) ++most;
    D_ = 1 + below(most);
    const int steps[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
    total_steps_ = steps[below(std::size(steps))];
    std::string name = fmt::format("S {}, D {}, T {}", S_, D_, total_steps_);
    auto [process, step] = draw_reference(name);
    const States states = all_states(D_, static_cast<int>(S_));
    spread_ = 0.5 + 5.5 * unit(generator_);
    zero_share_ = below(2) == 0 ? 0.0 : 0.5 * unit(generator_);
    switch (below(6)) {
      case 0:
        return with_chain(std::move(name), process, step, states);
      case 1:
        return with_tree(std::move(name), process, step, states);
      default:
        return with_cp(std::move(name), process, step, states);
    }
  }

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(generator_() % n); }

 private:
  // From low to high, evenly in the logarithm.
  double between(double low, double high) { return low * std::pow(high / low, unit(generator_)); }

  std::pair<ReferenceProcess, Wide> draw_reference(std::string& name) {
    const auto S = static_cast<int>(S_);
    switch (below(4)) {
      case 0: {
        const double gammas[] = {between(1e-6, 0.5), 1.0 - between(1e-6, 0.5),
                                 1.0 - between(1e-15, 1e-12)};
        const double gamma = gammas[below(std::size(gammas))];
        name += fmt::format(", uniform {:.3g}", gamma);
        return {ReferenceProcess::uniform(S, gamma, total_steps_), uniform_step(S, gamma)};
      }
      case 1: {
        const double gamma = between(0.15, 4.0);  // what long doubles can hold in D coordinates
        name += fmt::format(", gaussian {:.3g}", gamma);
        return {ReferenceProcess::gaussian(S, gamma, total_steps_), gaussian_step(S, gamma)};
      }
      default: {
        const Matrix<double> matrix =
            random_stochastic(S_, below(2) == 0 ? 0.0 : unit(generator_), generator_());
        name += ", matrix";
        return {ReferenceProcess::from_matrix(matrix, total_steps_), normalised(widen(matrix))};
      }
    }
  }

  // As from_matrix() does it, to full precision.
  static Wide normalised(Wide matrix) {
    for (std::size_t i = 0; i < matrix.rows(); ++i) {
      long double sum = 0.0L;
      for (std::size_t j = 0; j < matrix.cols(); ++j) sum += matrix(i, j);
      for (std::size_t j = 0; j < matrix.cols(); ++j) matrix(i, j) /= sum;
    }
    return matrix;
  }

  double draw() { return spread_ * (2.0 * unit(generator_) - 1.0); }

  // The first category keeps its weight, so that no potential is 0 everywhere.
  Array3<double> draw_cores(std::size_t K) {
    Array3<double> cores(D_, S_, K);
    for (std::size_t d = 0; d < D_; ++d) {
      for (std::size_t s = 0; s < S_; ++s) {
        for (std::size_t k = 0; k < K; ++k) {
          const bool is_zero = unit(generator_) < zero_share_ && s > 0;
          cores(d, s, k) = is_zero ? -std::numeric_limits<double>::infinity() : draw();
        }
      }
    }
    return cores;
  }

  CpPotential draw_cp(std::size_t K) {
    std::vector<double> log_beta(K);
    for (double& value : log_beta) value = draw();
    return {std::move(log_beta), draw_cores(K)};
  }

  static std::vector<long double> values_of(const CpPotential& potential, const States& states) {
    std::vector<long double> v(states.rows());
    for (std::size_t i = 0; i < v.size(); ++i) {
      for (std::size_t k = 0; k < potential.num_components(); ++k) {
        long double log_term = potential.log_beta()[k];
        for (std::size_t d = 0; d < states.cols(); ++d) {
          log_term += potential.log_cores()(d, static_cast<std::size_t>(states(i, d)), k);
        }
        v[i] += std::exp(log_term);
      }
    }
    return v;
  }

  // Every path of the hidden chain, one by one.
  static std::vector<long double> values_of(const ChainPotential& potential, const States& states) {
    const std::size_t D = states.cols();
    const States paths = all_states(D, static_cast<int>(potential.num_components()));
    std::vector<long double> v(states.rows());
    for (std::size_t i = 0; i < v.size(); ++i) {
      for (std::size_t p = 0; p < paths.rows(); ++p) {
        long double log_term = potential.log_start()[static_cast<std::size_t>(paths(p, 0))];
        for (std::size_t d = 0; d < D; ++d) {
          const auto z = static_cast<std::size_t>(paths(p, d));
          if (d > 0) {
            log_term += potential.log_moves()(d - 1, static_cast<std::size_t>(paths(p, d - 1)), z);
          }
          log_term += potential.log_cores()(d, static_cast<std::size_t>(states(i, d)), z);
        }
        v[i] += std::exp(log_term);
      }
    }
    return v;
  }

  RandomPair with_chain(std::string name, const ReferenceProcess& process, const Wide& step,
                        const States& states) {
    const std::size_t K = D_ > 3 ? 2 : 1 + below(4);
    std::vector<double> log_start(K);
    for (double& value : log_start) value = draw();
    Array3<double> moves(D_ - 1, K, K);
    for (std::size_t i = 0; i < moves.size(); ++i) moves.data()[i] = draw();
    const ChainPotential potential(std::move(log_start), std::move(moves), draw_cores(K));
    name += fmt::format(", chain {}", K);
    return one_sided(std::move(name), ChainBridge(process, potential), step, states,
                     values_of(potential, states));
  }

  // A tree of up to six nodes, of any shape.
  RandomPair with_tree(std::string name, const ReferenceProcess& process, const Wide& step,
                       const States& states) {
    const std::size_t M = 1 + below(6), K = 1 + below(M > 4 ? 2 : 3);
    std::vector<std::int32_t> parent{-1}, node_of;
    for (std::size_t i = 1; i < M; ++i) parent.push_back(static_cast<std::int32_t>(below(i)));
    for (std::size_t d = 0; d < D_; ++d) node_of.push_back(static_cast<std::int32_t>(below(M)));
    const TreeShape shape(std::move(parent), std::move(node_of));
    const TreePotential potential = draw_tree(shape, K);
    const TreeBridge bridge(process, potential);
    std::vector<long double> v = potential_by_states(potential, states);
    name += fmt::format(", tree of {} nodes, {}", M, K);
    if (below(3) != 0) return one_sided(std::move(name), bridge, step, states, std::move(v));
    const TreePotential f = draw_tree(shape, 1 + below(2));
    return two_sided(std::move(name), f, potential_by_states(f, states), bridge, step, states,
                     std::move(v));
  }

  TreePotential draw_tree(const TreeShape& shape, std::size_t K) {
    std::vector<double> log_root(K);
    for (double& value : log_root) value = draw();
    Array3<double> moves(shape.num_nodes() - 1, K, K);
    for (std::size_t i = 0; i < moves.size(); ++i) moves.data()[i] = draw();
    return {shape, std::move(log_root), std::move(moves), draw_cores(K)};
  }

  RandomPair with_cp(std::string name, const ReferenceProcess& process, const Wide& step,
                     const States& states) {
    const CpPotential potential = draw_cp(1 + below(6));
    name += fmt::format(", CP {}", potential.num_components());
    const CpBridge bridge(process, potential);
    std::vector<long double> v = values_of(potential, states);
    if (below(3) != 0) {
      return one_sided(std::move(name), bridge, step, states, std::move(v));
    }
    const CpPotential f = draw_cp(1 + below(4));
    return two_sided(std::move(name), f, values_of(f, states), bridge, step, states, std::move(v));
  }

  // p0 = f c / Z, by what f and c are at every state.
  template <typename Potential, typename SomeBridge>
  RandomPair two_sided(std::string name, const Potential& f, std::vector<long double> f_by_state,
                       const SomeBridge& bridge, const Wide& step, const States& states,
                       std::vector<long double> v) {
    RandomPair made{name + ", two-sided",
                    BenchmarkPair::two_sided({"random"}, f, bridge),
                    states,
                    step,
                    std::move(v),
                    std::move(f_by_state)};
    const std::vector<long double> c = made.phi(total_steps_);
    long double total = 0.0L;
    for (std::size_t i = 0; i < c.size(); ++i) total += made.p0[i] *= c[i];
    for (long double& value : made.p0) value /= total;
    return made;
  }

  template <typename SomeBridge>
  RandomPair one_sided(std::string name, const SomeBridge& bridge, const Wide& step,
                       const States& states, std::vector<long double> v) {
    auto [source, p0] = draw_source(states, name);
    return {std::move(name), BenchmarkPair({"random"}, std::move(source), bridge),
            states,          step,
            std::move(v),    std::move(p0)};
  }

  std::pair<SourceDistribution, std::vector<long double>> draw_source(const States& states,
                                                                      std::string& name) {
    const std::size_t M = states.rows();
    std::vector<long double> p0(M);
    switch (below(3)) {
      case 0: {
        name += ", observed p0";
        States rows(1 + below(6), D_);
        for (std::size_t i = 0; i < rows.rows(); ++i) {
          for (std::size_t d = 0; d < D_; ++d) rows(i, d) = static_cast<std::int32_t>(below(S_));
          p0[state_index(rows.row(i), D_, static_cast<int>(S_))] +=
              1.0L / static_cast<long double>(rows.rows());
        }
        return {SourceDistribution::empirical(std::move(rows), static_cast<int>(S_)), p0};
      }
      case 1: {
        name += ", mixture p0";
        const CpPotential f = draw_cp(1 + below(4));
        p0 = values_of(f, states);
        long double total = 0.0L;
        for (const long double value : p0) total += value;
        for (long double& value : p0) value /= total;
        return {SourceDistribution::mixture(f), p0};
      }
      default: {
        name += ", product p0";
        Matrix<double> pmf(D_, S_);
        for (std::size_t d = 0; d < D_; ++d) {
          double sum = 0.0;
          for (std::size_t s = 0; s < S_; ++s) {
            pmf(d, s) = s > 0 && unit(generator_) < zero_share_ ? 0.0 : std::exp(draw());
            sum += pmf(d, s);
          }
          for (std::size_t s = 0; s < S_; ++s) pmf(d, s) /= sum;
        }
        const Wide exact = normalised(widen(pmf));
        for (std::size_t i = 0; i < M; ++i) {
          p0[i] = 1.0L;
          for (std::size_t d = 0; d < D_; ++d) {
            p0[i] *= exact(d, static_cast<std::size_t>(states(i, d)));
          }
        }
        return {SourceDistribution::product(pmf), p0};
      }
    }
  }

  std::mt19937_64 generator_;
  std::size_t S_ = 0, D_ = 0;
  int total_steps_ = 0;
  double spread_ = 0.0, zero_share_ = 0.0;
};

}  // namespace bridgemark::testing
