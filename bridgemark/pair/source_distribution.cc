#include "bridgemark/pair/source_distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/normal.h"
#include "bridgemark/pair/quantizer.h"

namespace bridgemark {

struct SourceDistribution::Tables {
  Matrix<double> log_pmf;             // [M*D,S], independent coordinates of M components
  Matrix<double> cumulative;          // [M*D,S], of the pmf
  Matrix<double> given_pmf;           // [D,S], of product()
  std::vector<double> log_weights;    // [M]
  std::vector<double> components;     // [M], sums of the weights; empty for one component
  std::optional<TreePotential> tree;  // as the law of hidden states
  std::shared_ptr<const backend::TreeRows> tree_rows;
  States states;                      // [n,D], empirical
  std::vector<std::size_t> by_value;  // rows of `states` in lexicographic order
};

namespace {

// One coordinate's log pmf from the probability of each interval between edges, the same for all.
template <typename Interval>
Matrix<double> quantised_log_pmf(std::size_t dim, const Quantizer& quantizer, Interval&& interval) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto& edges = quantizer.edges();
  const std::size_t S = edges.size() + 1;
  Matrix<double> log_pmf(dim, S);
  for (std::size_t s = 0; s < S; ++s) {
    const double low = s == 0 ? -kInfinity : edges[s - 1];
    const double high = s + 1 == S ? kInfinity : edges[s];
    const double value = std::log(interval(low, high));
    for (std::size_t d = 0; d < dim; ++d) log_pmf(d, s) = value;
  }
  return log_pmf;
}

// Sums of the probabilities of each of `rows` rows; of a row of zeros they stay 0.
Matrix<double> cumulated(const double* log_rows, std::size_t rows, std::size_t count) {
  Matrix<double> sums(rows, count);
  for (std::size_t row = 0; row < rows; ++row) {
    const double* const values = log_rows + row * count;
    if (*std::max_element(values, values + count) == kLogZero) continue;
    cumulate_log(values, count, sums.row(row));
  }
  return sums;
}

backend::TreeRows tree_rows(const TreePotential& law) {
  const std::size_t D = law.dim(), S = law.log_cores().extent(1), K = law.num_components(),
                    edges = law.log_moves().extent(0);
  Matrix<double> log_cores(D * K, S);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) {
      for (std::size_t k = 0; k < K; ++k) log_cores(d * K + k, s) = law.log_cores()(d, s, k);
    }
  }
  backend::TreeRows rows;
  rows.parent = law.shape().parent();
  rows.node_of = law.shape().node_of();
  rows.root.resize(K);
  cumulate_log(law.log_root().data(), K, rows.root.data());
  rows.moves = cumulated(law.log_moves().data(), edges * K, K);
  rows.cores = cumulated(log_cores.data(), D * K, S);
  return rows;
}

// Of each coordinate of a tree's law, by the laws of its nodes' states from the root down.
Matrix<double> log_tree_marginals(const TreePotential& law) {
  const std::size_t S = law.log_cores().extent(1), K = law.num_components();
  const TreeShape& shape = law.shape();
  Matrix<double> log_node(shape.num_nodes(), K), marginals(law.dim(), S);
  std::copy_n(law.log_root().data(), K, log_node.row(0));
  for (std::size_t i = 1; i < shape.num_nodes(); ++i) {
    const double* const parent = log_node.row(static_cast<std::size_t>(shape.parent()[i]));
    for (std::size_t k = 0; k < K; ++k) {
      log_node(i, k) = log_sum_of_sums(law.log_moves().row(i - 1, 0) + k, K, parent, nullptr, K);
    }
  }
  for (std::size_t d = 0; d < law.dim(); ++d) {
    const double* const node = log_node.row(static_cast<std::size_t>(shape.node_of()[d]));
    for (std::size_t s = 0; s < S; ++s) {
      marginals(d, s) = log_sum_of_sums(law.log_cores().row(d, s), 1, node, nullptr, K);
    }
  }
  return marginals;
}

void check_dim(std::size_t dim) {
  if (dim < 1) throw_invalid("source", "dim must be at least 1, got {}", dim);
}

}  // namespace

std::string_view source_kind_name(SourceKind kind) {
  switch (kind) {
    case SourceKind::kGaussian:
      return "gaussian";
    case SourceKind::kUniform:
      return "uniform";
    case SourceKind::kProduct:
      return "product";
    case SourceKind::kMixture:
      return "mixture";
    case SourceKind::kTree:
      return "tree";
    case SourceKind::kEmpirical:
      return "empirical";
  }
  return "";
}

SourceDistribution::SourceDistribution(SourceKind kind, std::size_t dim, int num_categories,
                                       std::shared_ptr<const Tables> tables)
    : kind_(kind), dim_(dim), num_categories_(num_categories), tables_(std::move(tables)) {}

SourceDistribution SourceDistribution::independent(SourceKind kind, Matrix<double> log_pmf,
                                                   std::vector<double> log_weights) {
  auto tables = std::make_shared<Tables>();
  const std::size_t rows = log_pmf.rows(), S = log_pmf.cols(), M = log_weights.size();
  tables->cumulative = Matrix<double>(rows, S);
  for (std::size_t row = 0; row < rows; ++row) {
    log_normalize(log_pmf.row(row), S);
    cumulate_log(log_pmf.row(row), S, tables->cumulative.row(row));
  }
  log_normalize(log_weights.data(), M);
  if (M > 1) {
    tables->components.resize(M);
    cumulate_log(log_weights.data(), M, tables->components.data());
  }
  tables->log_pmf = std::move(log_pmf);
  tables->log_weights = std::move(log_weights);
  return {kind, rows / M, static_cast<int>(S), std::move(tables)};
}

SourceDistribution SourceDistribution::gaussian(std::size_t dim, int num_categories, double low,
                                                double high) {
  check_dim(dim);
  SourceDistribution source =
      independent(SourceKind::kGaussian,
                  quantised_log_pmf(dim, Quantizer(num_categories, low, high), normal_interval));
  source.low_ = low;
  source.high_ = high;
  return source;
}

SourceDistribution SourceDistribution::uniform(std::size_t dim, int num_categories, double low,
                                               double high) {
  check_dim(dim);
  const auto interval = [](double a, double b) {
    constexpr double kEnd = kUniformSourceRange;
    return (std::clamp(b, -kEnd, kEnd) - std::clamp(a, -kEnd, kEnd)) / (2.0 * kEnd);
  };
  SourceDistribution source = independent(
      SourceKind::kUniform, quantised_log_pmf(dim, Quantizer(num_categories, low, high), interval));
  source.low_ = low;
  source.high_ = high;
  return source;
}

SourceDistribution SourceDistribution::product(const Matrix<double>& pmf) {
  const std::size_t D = pmf.rows(), S = pmf.cols();
  check_dim(D);
  if (S < 2) throw_invalid("source", "pmf must have at least 2 columns, got {}", S);
  Matrix<double> log_pmf(D, S);
  for (std::size_t d = 0; d < D; ++d) {
    double sum = 0.0;
    for (std::size_t s = 0; s < S; ++s) {
      const double p = pmf(d, s);
      if (!(p >= 0.0 && p <= 1.0)) {
        throw_invalid("source", "pmf must lie in [0, 1], got {} at [{}, {}]", p, d, s);
      }
      sum += p;
      log_pmf(d, s) = std::log(p);
    }
    if (!(std::abs(sum - 1.0) <= 1e-6)) {
      throw_invalid("source", "each row of the pmf must sum to 1, got {} for row {}", sum, d);
    }
  }
  SourceDistribution source = independent(SourceKind::kProduct, std::move(log_pmf));
  auto tables = std::make_shared<Tables>(*source.tables_);
  tables->given_pmf = pmf;
  source.tables_ = std::move(tables);
  return source;
}

SourceDistribution SourceDistribution::mixture(const CpPotential& potential) {
  const std::size_t D = potential.dim(), M = potential.num_components(),
                    S = static_cast<std::size_t>(potential.num_categories());
  Matrix<double> log_pmf(M * D, S);
  for (std::size_t m = 0; m < M; ++m) {
    for (std::size_t d = 0; d < D; ++d) {
      for (std::size_t s = 0; s < S; ++s) log_pmf(m * D + d, s) = potential.log_cores()(d, s, m);
    }
  }
  return independent(SourceKind::kMixture, std::move(log_pmf), potential.log_component_totals());
}

SourceDistribution SourceDistribution::tree(const TreePotential& potential) {
  auto tables = std::make_shared<Tables>();
  tables->tree = as_law(potential);
  tables->tree_rows = std::make_shared<const backend::TreeRows>(tree_rows(*tables->tree));
  return {SourceKind::kTree, potential.dim(), potential.num_categories(), std::move(tables)};
}

SourceDistribution SourceDistribution::empirical(States states, int num_categories) {
  check_dim(states.cols());
  if (states.rows() == 0) throw_invalid("source", "states must hold at least one row, got 0");
  check_states("source", states, states.cols(), num_categories);
  auto tables = std::make_shared<Tables>();
  const std::size_t D = states.cols();
  tables->by_value.resize(states.rows());
  for (std::size_t i = 0; i < states.rows(); ++i) tables->by_value[i] = i;
  std::sort(tables->by_value.begin(), tables->by_value.end(), [&](std::size_t a, std::size_t b) {
    return std::lexicographical_compare(states.row(a), states.row(a) + D, states.row(b),
                                        states.row(b) + D);
  });
  tables->states = std::move(states);
  return {SourceKind::kEmpirical, D, num_categories, std::move(tables)};
}

void SourceDistribution::sample(const Context& context, const DrawKey& key,
                                std::uint64_t first_index, MutableStatesView out) const {
  const Context host = context.on_host();
  const backend::Backend& device = backend::of(host);
  if (kind_ == SourceKind::kEmpirical) {
    device.draw_observed_rows(host, tables_->states, key, first_index, out);
  } else if (kind_ == SourceKind::kTree) {
    device.draw_rows(host, rows(key), first_index, out);
  } else {
    device.draw_independent_rows(host, tables_->cumulative, tables_->components, key, first_index,
                                 out);
  }
}

backend::RowSource SourceDistribution::rows(const DrawKey& key) const {
  backend::RowSource source;
  source.key = key;
  if (kind_ == SourceKind::kEmpirical) {
    source.observed = tables_->states;
  } else if (kind_ == SourceKind::kTree) {
    source.tree = tables_->tree_rows;
  } else {
    source.cumulative = tables_->cumulative;
    source.components = tables_->components;
  }
  return source;
}

void SourceDistribution::log_probability(StatesView x, std::span<double> out) const {
  check_states("x", x, dim_, num_categories_);
  if (kind_ == SourceKind::kTree) return tables_->tree->log_value({.num_threads = 1}, x, out);
  const States& observed = tables_->states;
  std::vector<double> log_terms;
  for (std::size_t b = 0; b < x.rows; ++b) {
    if (kind_ != SourceKind::kEmpirical) {
      log_terms = tables_->log_weights;
      for (std::size_t m = 0; m < log_terms.size(); ++m) {
        for (std::size_t d = 0; d < dim_; ++d) {
          log_terms[m] += tables_->log_pmf(m * dim_ + d, static_cast<std::size_t>(x(b, d)));
        }
      }
      out[b] = log_terms.size() == 1 ? log_terms[0] : log_sum(log_terms.data(), log_terms.size());
      continue;
    }
    const auto less = [&](const std::int32_t* a, const std::int32_t* c) {
      return std::lexicographical_compare(a, a + dim_, c, c + dim_);
    };
    const auto low = std::lower_bound(
        tables_->by_value.begin(), tables_->by_value.end(), x.row(b),
        [&](std::size_t row, const std::int32_t* value) { return less(observed.row(row), value); });
    const auto high = std::upper_bound(
        low, tables_->by_value.end(), x.row(b),
        [&](const std::int32_t* value, std::size_t row) { return less(value, observed.row(row)); });
    out[b] = std::log(static_cast<double>(high - low) / static_cast<double>(observed.rows()));
  }
}

Matrix<double> SourceDistribution::log_marginals() const {
  if (kind_ == SourceKind::kTree) return log_tree_marginals(*tables_->tree);
  const auto S = static_cast<std::size_t>(num_categories_);
  Matrix<double> marginals(dim_, S);
  if (kind_ != SourceKind::kEmpirical) {
    std::vector<double> log_terms(tables_->log_weights.size());
    for (std::size_t d = 0; d < dim_; ++d) {
      for (std::size_t s = 0; s < S; ++s) {
        for (std::size_t m = 0; m < log_terms.size(); ++m) {
          log_terms[m] = tables_->log_weights[m] + tables_->log_pmf(m * dim_ + d, s);
        }
        marginals(d, s) = log_sum(log_terms.data(), log_terms.size());
      }
    }
    return marginals;
  }
  const States& observed = tables_->states;
  for (std::size_t i = 0; i < observed.rows(); ++i) {
    for (std::size_t d = 0; d < dim_; ++d) {
      marginals(d, static_cast<std::size_t>(observed(i, d))) += 1.0;
    }
  }
  for (std::size_t i = 0; i < marginals.size(); ++i) {
    marginals.data()[i] = std::log(marginals.data()[i] / static_cast<double>(observed.rows()));
  }
  return marginals;
}

const Matrix<double>& SourceDistribution::log_pmf() const {
  if (tables_->log_pmf.size() == 0 || kind_ == SourceKind::kMixture) {
    throw_invalid("source", "{} {} source has no product pmf",
                  kind_ == SourceKind::kEmpirical ? "an" : "a", source_kind_name(kind_));
  }
  return tables_->log_pmf;
}

CpPotential SourceDistribution::parts() const {
  if (kind_ == SourceKind::kEmpirical || kind_ == SourceKind::kTree) {
    throw_invalid("source", "{} {} source has no parts with independent coordinates",
                  kind_ == SourceKind::kEmpirical ? "an" : "a", source_kind_name(kind_));
  }
  const std::size_t M = tables_->log_weights.size(), S = tables_->log_pmf.cols();
  Array3<double> log_cores(dim_, S, M);
  for (std::size_t m = 0; m < M; ++m) {
    for (std::size_t d = 0; d < dim_; ++d) {
      for (std::size_t s = 0; s < S; ++s) log_cores(d, s, m) = tables_->log_pmf(m * dim_ + d, s);
    }
  }
  return {tables_->log_weights, std::move(log_cores)};
}

const Matrix<double>& SourceDistribution::given_pmf() const {
  if (kind_ != SourceKind::kProduct) {
    throw_invalid("source", "a {} source was given no pmf", source_kind_name(kind_));
  }
  return tables_->given_pmf;
}

const States& SourceDistribution::states() const {
  if (kind_ != SourceKind::kEmpirical) {
    throw_invalid("source", "a {} source has no observed states", source_kind_name(kind_));
  }
  return tables_->states;
}

}  // namespace bridgemark
