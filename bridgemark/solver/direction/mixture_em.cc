#include "bridgemark/solver/direction/mixture_em.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bridgemark/math/log_domain.h"
#include "bridgemark/solver/direction/em_steps.h"

namespace bridgemark {

namespace {

// What a step adds up over rows: counts [D,S,J], shares [J], log-likelihood.
struct MixtureSums {
  std::vector<double> counts, shares;
  double log_likelihood = 0.0;

  void operator+=(const MixtureSums& more) {
    add_each(counts, more.counts);
    add_each(shares, more.shares);
    log_likelihood += more.log_likelihood;
  }
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

void add_mixture_rows(const CpPotential& mixture, StatesView rows, MixtureSums& sums) {
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
  const MixtureSums sums = sum_over_rows<MixtureSums>(
      context, rows_,
      [&](StatesView rows, MixtureSums& block) { add_mixture_rows(mixture, rows, block); });
  const auto n = static_cast<double>(rows_.rows);
  log_likelihood = sums.log_likelihood / n;
  std::vector<double> log_weights(sums.shares);
  for (double& value : log_weights) value = std::log(value / n);
  return {std::move(log_weights),
          likeliest_cores(sums.counts, sums.shares, 0, base_, pseudo_rows_)};
}

CpPotential MixtureEm::step(const Context& context, const CpPotential& mixture) const {
  double log_likelihood = 0.0;
  return step(context, mixture, log_likelihood);
}

CpPotential MixtureEm::run(const Context& context, CpPotential mixture, int most,
                           double enough) const {
  return climb(std::move(mixture), most, enough,
               [&](const CpPotential& law, double& log_likelihood) {
                 return step(context, law, log_likelihood);
               });
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

}  // namespace bridgemark
