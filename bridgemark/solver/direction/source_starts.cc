#include "bridgemark/solver/direction/source_starts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/math/philox.h"

namespace bridgemark {

namespace {

constexpr double kUniformShare = 1e-3;  // of the law of pseudo-rows, where a reference has zeros
constexpr double kSwitchRate = 0.1;     // of a chain of parts
constexpr double kBaseShare = 0.1;      // of the law of a range of categories

// out[to] += sum over from of shares[from] Q[from, to].
void add_moved(const backend::ReferencePower& q, std::vector<double>& shares, double* out) {
  const std::size_t S = shares.size();
  if (const Matrix<double>* const log_q = q.table()) {
    for (std::size_t from = 0; from < S; ++from) {
      if (shares[from] == 0.0) continue;
      for (std::size_t to = 0; to < S; ++to) out[to] += shares[from] * std::exp((*log_q)(from, to));
    }
    return;
  }
  for (double& share : shares) share = std::log(share);
  std::vector<double> log_moved(S);
  q.factors()->log_transport(shares.data(), log_moved.data());
  for (std::size_t s = 0; s < S; ++s) out[s] += std::exp(log_moved[s]);
}

// How unlikely the reference is to bring a row to another, beside staying.
double distance(const backend::ReferencePower& q, const std::int32_t* from, const std::int32_t* to,
                std::size_t dim) {
  constexpr double kFarthest = 1e3;  // of a coordinate
  double sum = 0.0;
  for (std::size_t d = 0; d < dim; ++d) {
    const double stays = q.log_entry(from[d], from[d]);
    sum += std::clamp(stays - q.log_entry(from[d], to[d]), 0.0, kFarthest);
  }
  return sum;
}

// [D,S]: the range that each category falls in, by the share of rows below it.
Matrix<std::size_t> ranges_of_categories(StatesView rows, std::size_t S, std::size_t ranges) {
  Matrix<std::size_t> range(rows.cols, S);
  std::vector<double> counts(S);
  for (std::size_t d = 0; d < rows.cols; ++d) {
    std::fill(counts.begin(), counts.end(), 0.0);
    for (std::size_t i = 0; i < rows.rows; ++i) counts[static_cast<std::size_t>(rows(i, d))] += 1.0;
    double below = 0.0;
    for (std::size_t s = 0; s < S; ++s) {
      const double middle = (below + 0.5 * counts[s]) / static_cast<double>(rows.rows);
      range(d, s) =
          std::min(ranges - 1, static_cast<std::size_t>(middle * static_cast<double>(ranges)));
      below += counts[s];
    }
  }
  return range;
}

}  // namespace

Matrix<double> moved_counts(const backend::ReferencePower& q, StatesView rows) {
  const std::size_t D = rows.cols, S = q.num_categories();
  Matrix<double> counts(D, S), base(D, S);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (std::size_t d = 0; d < D; ++d) counts(d, static_cast<std::size_t>(rows(i, d))) += 1.0;
  }
  std::vector<double> shares(S);
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t s = 0; s < S; ++s) shares[s] = counts(d, s) / static_cast<double>(rows.rows);
    add_moved(q, shares, base.row(d));
    for (std::size_t s = 0; s < S; ++s) {
      base(d, s) = (1.0 - kUniformShare) * base(d, s) + kUniformShare / static_cast<double>(S);
    }
  }
  return base;
}

CpPotential first_parts(const backend::ReferencePower& q, const Matrix<double>& base,
                        StatesView rows, std::size_t parts, std::uint32_t start) {
  const std::size_t D = base.rows(), S = base.cols();
  DrawSequence draws({0, DrawPurpose::kInitialise, start}, parts);
  std::vector<double> nearest(rows.rows, std::numeric_limits<double>::infinity()),
      cumulative(rows.rows), log_near(S);
  Array3<double> log_cores(D, S, parts);
  auto row = static_cast<std::size_t>(draws.uniform() * static_cast<double>(rows.rows));
  for (std::size_t j = 0; j < parts; ++j) {
    double total = 0.0;
    for (std::size_t i = 0; i < rows.rows; ++i) {
      nearest[i] = std::min(nearest[i], distance(q, rows.row(row), rows.row(i), D));
      cumulative[i] = total += nearest[i];
    }
    for (std::size_t d = 0; d < D; ++d) {
      q.log_row(rows(row, d), log_near.data());
      for (std::size_t s = 0; s < S; ++s) {
        log_cores(d, s, j) = std::log(0.5 * std::exp(log_near[s]) + 0.5 * base(d, s));
      }
    }
    if (total > 0.0) row = draw_category(cumulative.data(), rows.rows, draws.uniform());
  }
  return {std::vector<double>(parts, -std::log(static_cast<double>(parts))), std::move(log_cores)};
}

ChainPotential chain_of_parts(const backend::ReferencePower& q, const Matrix<double>& base,
                              StatesView rows, std::size_t states) {
  const CpPotential parts = first_parts(q, base, rows, states, 0);
  return {parts.log_beta(), switching_moves(base.rows(), states, kSwitchRate), parts.log_cores()};
}

ChainPotential chain_of_ranges(const Matrix<double>& base, StatesView rows, std::size_t states) {
  const std::size_t D = base.rows(), S = base.cols(), J = states;
  const Matrix<std::size_t> range = ranges_of_categories(rows, S, J);
  const auto state = [&](std::size_t i, std::size_t d) {
    return range(d, static_cast<std::size_t>(rows(i, d)));
  };
  // Counts, each with one row more that is spread evenly or, over categories, as base is.
  Matrix<double> shares(D, J);
  Array3<double> moves(D - 1, J, J, 1.0 / static_cast<double>(J)), cores(D, S, J);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (std::size_t d = 0; d < D; ++d) {
      shares(d, state(i, d)) += 1.0;
      cores(d, static_cast<std::size_t>(rows(i, d)), state(i, d)) += 1.0;
      if (d + 1 < D) moves(d, state(i, d), state(i, d + 1)) += 1.0;
    }
  }
  std::vector<double> log_start(J);
  const double n = static_cast<double>(rows.rows);
  for (std::size_t j = 0; j < J; ++j) {
    log_start[j] = std::log((shares(0, j) + 1.0 / static_cast<double>(J)) / (n + 1.0));
  }
  for (std::size_t d = 0; d < D; ++d) {
    for (std::size_t j = 0; j < J; ++j) {
      for (std::size_t to = 0; d + 1 < D && to < J; ++to) {
        moves(d, j, to) = std::log(moves(d, j, to) / (shares(d, j) + 1.0));
      }
      for (std::size_t s = 0; s < S; ++s) {
        const double own = (cores(d, s, j) + base(d, s)) / (shares(d, j) + 1.0);
        cores(d, s, j) = std::log((1.0 - kBaseShare) * own + kBaseShare * base(d, s));
      }
    }
  }
  return {std::move(log_start), std::move(moves), std::move(cores)};
}

}  // namespace bridgemark
