#include "bridgemark/solver/direction/chain_em.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "bridgemark/bridge/path_posteriors.h"
#include "bridgemark/solver/direction/em_steps.h"

namespace bridgemark {

namespace {

// What a step adds up over rows: counts [D,S,J], shares [D,J], moves [D-1,J,J], log-likelihood.
struct ChainSums {
  std::vector<double> counts, shares, moves;
  double log_likelihood = 0.0;

  void operator+=(const ChainSums& more) {
    add_each(counts, more.counts);
    add_each(shares, more.shares);
    add_each(moves, more.moves);
    log_likelihood += more.log_likelihood;
  }
};

// A chain of laws with its tables on both scales: start and moves as they are, each emission
// divided by the largest of its category.
class ChainOfLaws {
 public:
  explicit ChainOfLaws(const ChainPotential& chain)
      : chain_(chain),
        start_(exponentials(chain.log_start())),
        moves_(exponentials({chain.log_moves().data(), chain.log_moves().size()})),
        emission_(exponentials({chain.log_cores().data(), chain.log_cores().size()})) {
    const std::size_t J = chain.num_components();
    for (auto row = emission_.begin(); row != emission_.end(); row += static_cast<long>(J)) {
      const double high = *std::max_element(row, row + static_cast<long>(J));
      if (high > 0.0) std::for_each_n(row, J, [=](double& value) { value /= high; });
    }
  }

  HiddenChain view() const {
    const Array3<double>& cores = chain_.log_cores();
    return {cores.extent(0), cores.extent(1),           cores.extent(2), chain_.log_start().data(),
            start_.data(),   chain_.log_moves().data(), moves_.data(),   cores.data(),
            emission_.data()};
  }

 private:
  static std::vector<double> exponentials(std::span<const double> logarithms) {
    std::vector<double> out(logarithms.begin(), logarithms.end());
    for (double& value : out) value = std::exp(value);
    return out;
  }

  const ChainPotential& chain_;
  std::vector<double> start_, moves_, emission_;
};

void add_chain_rows(const HiddenChain& chain, StatesView rows, ChainSums& sums) {
  const std::size_t D = chain.D, S = chain.S, J = chain.K;
  sums.counts.assign(D * S * J, 0.0);
  sums.shares.assign(D * J, 0.0);
  sums.moves.assign((D - 1) * J * J, 0.0);
  PathPosteriors paths(D, J);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    const std::int32_t* x = rows.row(i);
    sums.log_likelihood += paths.pass(chain, x, 0.0);
    for (std::size_t d = 0; d < D; ++d) {
      const double* states = paths.states(d);
      double* counts = &sums.counts[(d * S + static_cast<std::size_t>(x[d])) * J];
      for (std::size_t j = 0; j < J; ++j) {
        counts[j] += states[j];
        sums.shares[d * J + j] += states[j];
      }
      if (d + 1 < D) paths.add_moves(chain, x, d, &sums.moves[d * J * J]);
    }
  }
}

}  // namespace

ChainEm::ChainEm(StatesView rows, Matrix<double> base, double pseudo_rows)
    : rows_(rows), base_(std::move(base)), pseudo_rows_(pseudo_rows) {}

ChainPotential ChainEm::step(const Context& context, const ChainPotential& chain,
                             double& log_likelihood) const {
  const std::size_t D = chain.dim(), J = chain.num_components();
  const ChainOfLaws tables(chain);
  const ChainSums sums = sum_over_rows<ChainSums>(
      context, rows_,
      [&](StatesView rows, ChainSums& block) { add_chain_rows(tables.view(), rows, block); });
  const auto n = static_cast<double>(rows_.rows);
  log_likelihood = sums.log_likelihood / n;
  std::vector<double> log_start(sums.shares.begin(), sums.shares.begin() + static_cast<long>(J));
  for (double& value : log_start) value = std::log(value / n);
  Array3<double> log_moves(D - 1, J, J);
  for (std::size_t d = 0; d + 1 < D; ++d) {
    for (std::size_t i = 0; i < J; ++i) {
      const double* counts = &sums.moves[(d * J + i) * J];
      double total = pseudo_rows_;
      for (std::size_t j = 0; j < J; ++j) total += counts[j];
      for (std::size_t j = 0; j < J; ++j) {
        log_moves(d, i, j) = std::log((counts[j] + pseudo_rows_ / static_cast<double>(J)) / total);
      }
    }
  }
  return {std::move(log_start), std::move(log_moves),
          likeliest_cores(sums.counts, sums.shares, J, base_, pseudo_rows_)};
}

ChainPotential ChainEm::step(const Context& context, const ChainPotential& chain) const {
  double log_likelihood = 0.0;
  return step(context, chain, log_likelihood);
}

ChainPotential ChainEm::run(const Context& context, ChainPotential chain, int most,
                            double enough) const {
  return climb(std::move(chain), most, enough,
               [&](const ChainPotential& law, double& log_likelihood) {
                 return step(context, law, log_likelihood);
               });
}

}  // namespace bridgemark
