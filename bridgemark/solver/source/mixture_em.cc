#include "bridgemark/solver/source/mixture_em.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bridgemark/core/parallel.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

constexpr std::size_t kBlocks = 32;           // of rows, each with sums of its own
constexpr std::size_t kFewestInABlock = 256;  // rows

// What a step adds up over rows: counts [D,S,J], shares [J], log-likelihood.
struct MixtureSums {
  std::vector<double> counts, shares;
  double log_likelihood = 0.0;
};

// log_terms[j] = log w_j p_j(x).
void write_log_terms(const CpPotential& mixture, const std::int32_t* x, double* log_terms) {
  const Array3<double>& cores = mixture.log_cores();
  const std::size_t J = mixture.num_components();
  std::copy_n(mixture.log_beta().data(), J, log_terms);
  for (std::size_t d = 0; d < mixture.dim(); ++d) {
    const double* core = cores.row(d, static_cast<std::size_t>(x[d]));
    for (std::size_t j = 0; j < J; ++j) log_terms[j] += core[j];
  }
}

void add_rows(const CpPotential& mixture, StatesView rows, MixtureSums& sums) {
  const std::size_t D = mixture.dim(), J = mixture.num_components(),
                    S = static_cast<std::size_t>(mixture.num_categories());
  sums.counts.assign(D * S * J, 0.0);
  sums.shares.assign(J, 0.0);
  std::vector<double> share(J);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    write_log_terms(mixture, rows.row(i), share.data());
    const double log_total = log_sum(share.data(), J);
    sums.log_likelihood += log_total;
    for (std::size_t j = 0; j < J; ++j) sums.shares[j] += share[j] = std::exp(share[j] - log_total);
    for (std::size_t d = 0; d < D; ++d) {
      double* counts = &sums.counts[(d * S + static_cast<std::size_t>(rows(i, d))) * J];
      for (std::size_t j = 0; j < J; ++j) counts[j] += share[j];
    }
  }
}

}  // namespace

MixtureEm::MixtureEm(StatesView rows, Matrix<double> base, double pseudo_rows)
    : rows_(rows), base_(std::move(base)), pseudo_rows_(pseudo_rows) {}

CpPotential MixtureEm::step(const Context& context, const CpPotential& mixture,
                            double& log_likelihood) const {
  const std::size_t D = mixture.dim(), J = mixture.num_components(),
                    S = static_cast<std::size_t>(mixture.num_categories());
  // As many blocks whatever the threads, added up in their order.
  const std::size_t grain = std::max(kFewestInABlock, (rows_.rows + kBlocks - 1) / kBlocks);
  std::vector<MixtureSums> blocks((rows_.rows + grain - 1) / grain);
  parallel_blocks(context, rows_.rows, grain, [&](std::size_t first, std::size_t last) {
    add_rows(mixture, rows_.slice(first, last - first), blocks[first / grain]);
  });
  MixtureSums& sums = blocks.front();
  for (std::size_t b = 1; b < blocks.size(); ++b) {
    for (std::size_t i = 0; i < sums.counts.size(); ++i) sums.counts[i] += blocks[b].counts[i];
    for (std::size_t j = 0; j < J; ++j) sums.shares[j] += blocks[b].shares[j];
    sums.log_likelihood += blocks[b].log_likelihood;
  }
  log_likelihood = sums.log_likelihood / static_cast<double>(rows_.rows);
  std::vector<double> log_weights(J);
  Array3<double> log_cores(D, S, J);
  for (std::size_t j = 0; j < J; ++j) {
    log_weights[j] = std::log(sums.shares[j] / static_cast<double>(rows_.rows));
  }
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      for (std::size_t j = 0; j < J; ++j) {
        log_cores(d, s, j) =
            std::log((sums.counts[(d * S + s) * J + j] + pseudo_rows_ * base_(d, s)) /
                     (sums.shares[j] + pseudo_rows_));
      }
    }
  }
  return {std::move(log_weights), std::move(log_cores)};
}

CpPotential MixtureEm::step(const Context& context, const CpPotential& mixture) const {
  double log_likelihood = 0.0;
  return step(context, mixture, log_likelihood);
}

CpPotential MixtureEm::run(const Context& context, CpPotential mixture, int most,
                           double enough) const {
  double before = kLogZero;
  for (int i = 0; i < most; ++i) {
    double log_likelihood = 0.0;
    CpPotential next = step(context, mixture, log_likelihood);
    if (log_likelihood - before < enough) break;
    before = log_likelihood;
    mixture = std::move(next);
  }
  return mixture;
}

CpPotential independent_rows(StatesView rows, const Matrix<double>& base, double pseudo_rows) {
  const std::size_t D = base.rows(), S = base.cols();
  Array3<double> log_cores(D, S, 1);
  for (std::size_t i = 0; i < D * S; ++i) log_cores.data()[i] = pseudo_rows * base.data()[i];
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (std::size_t d = 0; d < D; ++d) {
      log_cores(d, static_cast<std::size_t>(rows(i, d)), 0) += 1.0;
    }
  }
  for (std::size_t i = 0; i < D * S; ++i) {
    log_cores.data()[i] =
        std::log(log_cores.data()[i] / (static_cast<double>(rows.rows) + pseudo_rows));
  }
  return {{0.0}, std::move(log_cores)};
}

std::vector<double> log_mixture(const Context& context, const CpPotential& mixture,
                                StatesView rows) {
  std::vector<double> out(rows.rows);
  parallel_blocks(context, rows.rows, kFewestInABlock, [&](std::size_t first, std::size_t last) {
    std::vector<double> log_terms(mixture.num_components());
    for (std::size_t i = first; i < last; ++i) {
      write_log_terms(mixture, rows.row(i), log_terms.data());
      out[i] = log_sum(log_terms.data(), log_terms.size());
    }
  });
  return out;
}

}  // namespace bridgemark
