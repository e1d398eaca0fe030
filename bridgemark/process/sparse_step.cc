#include "bridgemark/process/sparse_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "bridgemark/core/error.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark {

namespace {

using backend::SparsePower;

void check_gamma(const char* kind, double gamma) {
  if (gamma > 0.0 && gamma < 1.0) return;
  throw_invalid("reference", "gamma of {} reference must lie in (0, 1), got {}", kind, gamma);
}

void add_entry(SparsePower& step, std::size_t to, double log) {
  step.to.push_back(static_cast<std::int32_t>(to));
  step.log.push_back(log);
}

void end_row(SparsePower& step) { step.first.push_back(step.to.size()); }

void check_form(const GraphWeights& weights) {
  const std::size_t S = weights.num_categories(), entries = weights.to.size();
  if (S < 2 || weights.weight.size() != entries) {
    throw_invalid("reference",
                  "a graph must have at least 2 rows and as many weights as column indices, got {} "
                  "rows, {} weights and {} indices",
                  S, weights.weight.size(), entries);
  }
  if (weights.first.front() != 0 || weights.first.back() != static_cast<std::int64_t>(entries) ||
      !std::is_sorted(weights.first.begin(), weights.first.end())) {
    throw_invalid("reference",
                  "rows of a graph must begin at 0, ascend and end at {}, got {} to {}", entries,
                  weights.first.front(), weights.first.back());
  }
  for (std::size_t i = 0; i < entries; ++i) {
    if (weights.to[i] < 0 || static_cast<std::size_t>(weights.to[i]) >= S) {
      throw_invalid("reference", "a graph of {} rows must lead to 0..{}, got {} at entry {}", S,
                    S - 1, weights.to[i], i);
    }
    if (!(weights.weight[i] >= 0.0 && std::isfinite(weights.weight[i]))) {
      throw_invalid("reference",
                    "weights of a graph must be finite and not negative, got {} at entry {}",
                    weights.weight[i], i);
    }
  }
}

// The positive weights of each row by column; those of one place are added.
using Row = std::map<std::int32_t, double>;

std::vector<Row> rows_of(const GraphWeights& weights) {
  std::vector<Row> rows(weights.num_categories());
  for (std::size_t x = 0; x < rows.size(); ++x) {
    for (std::int64_t i = weights.first[x]; i < weights.first[x + 1]; ++i) {
      const auto entry = static_cast<std::size_t>(i);
      if (weights.weight[entry] > 0.0) rows[x][weights.to[entry]] += weights.weight[entry];
    }
  }
  return rows;
}

double sum_of(const Row& row) {
  double sum = 0.0;
  for (const auto& [to, weight] : row) sum += weight;
  return sum;
}

bool is_own_transpose(const SparsePower& step) {
  constexpr double kLogTolerance = 1e-14;
  for (std::size_t x = 0; x < step.num_categories(); ++x) {
    for (std::size_t i = step.first[x]; i < step.first[x + 1]; ++i) {
      const double back = step.log_entry(static_cast<std::size_t>(step.to[i]), x);
      if (!(std::abs(step.log[i] - back) <= kLogTolerance)) return false;
    }
  }
  return true;
}

SparsePower transposed(const SparsePower& step) {
  const std::size_t S = step.num_categories();
  std::vector<std::vector<std::pair<std::size_t, double>>> rows(S);
  for (std::size_t x = 0; x < S; ++x) {
    for (std::size_t i = step.first[x]; i < step.first[x + 1]; ++i) {
      rows[static_cast<std::size_t>(step.to[i])].emplace_back(x, step.log[i]);
    }
  }
  SparsePower back{{0}, {}, {}};
  for (const auto& row : rows) {
    for (const auto& [to, log] : row) add_entry(back, to, log);
    end_row(back);
  }
  return back;
}

// A category that 0 never leads to.
std::optional<int> unreached(const SparsePower& step) {
  std::vector<char> is_reached(step.num_categories());
  std::vector<std::size_t> open = {0};
  is_reached[0] = 1;
  while (!open.empty()) {
    const std::size_t x = open.back();
    open.pop_back();
    for (std::size_t i = step.first[x]; i < step.first[x + 1]; ++i) {
      const auto y = static_cast<std::size_t>(step.to[i]);
      if (!is_reached[y]) open.push_back(y);
      is_reached[y] = 1;
    }
  }
  const auto found = std::ranges::find(is_reached, 0);
  if (found == is_reached.end()) return std::nullopt;
  return static_cast<int>(found - is_reached.begin());
}

// Half a step and half no step.
SparsePower with_rest(const SparsePower& step) {
  const double half = std::log(0.5);
  SparsePower lazy{{0}, {}, {}};
  for (std::size_t x = 0; x < step.num_categories(); ++x) {
    std::map<std::int32_t, double> row;
    for (std::size_t i = step.first[x]; i < step.first[x + 1]; ++i) {
      row[step.to[i]] = half + step.log[i];
    }
    const auto [own, is_new] = row.try_emplace(static_cast<std::int32_t>(x), half);
    if (!is_new) own->second = log_add(own->second, half);
    for (const auto& [to, log] : row) add_entry(lazy, static_cast<std::size_t>(to), log);
    end_row(lazy);
  }
  return lazy;
}

}  // namespace

SparseStep::SparseStep(SparsePower step, double gamma)
    : step_(std::make_shared<const SparsePower>(std::move(step))),
      gamma_(gamma),
      is_symmetric_(is_own_transpose(*step_)) {}

SparseStep SparseStep::birth_death(int num_categories, double gamma) {
  check_gamma("a birth-death", gamma);
  const auto S = static_cast<std::size_t>(num_categories);
  const double moves = std::log(0.5 * gamma), stays = std::log1p(-gamma),
               stays_at_end = std::log1p(-0.5 * gamma);
  SparsePower step{{0}, {}, {}};
  for (std::size_t x = 0; x < S; ++x) {
    const bool is_end = x == 0 || x + 1 == S;
    if (x > 0) add_entry(step, x - 1, moves);
    add_entry(step, x, is_end ? stays_at_end : stays);
    if (x + 1 < S) add_entry(step, x + 1, moves);
    end_row(step);
  }
  return {std::move(step), gamma};
}

SparseStep SparseStep::absorbing(int num_categories, double gamma) {
  check_gamma("an absorbing", gamma);
  const std::size_t mask = static_cast<std::size_t>(num_categories) - 1;
  SparsePower step{{0}, {}, {}};
  for (std::size_t x = 0; x < mask; ++x) {
    add_entry(step, x, std::log1p(-gamma));
    add_entry(step, mask, std::log(gamma));
    end_row(step);
  }
  add_entry(step, mask, 0.0);
  end_row(step);
  return {std::move(step), gamma};
}

backend::FactoredPower absorbing_power(int num_categories, double gamma, int n) {
  const auto S = static_cast<std::size_t>(num_categories);
  const double log_stay = n * std::log1p(-gamma);
  Matrix<double> to_mask(1, S, kLogZero);
  to_mask(0, S - 1) = 0.0;
  return {log_stay, Matrix<double>(S, 1, std::log(-std::expm1(log_stay))),
          std::make_shared<const backend::ScaledRows>(backend::scale_rows(std::move(to_mask)))};
}

SparseStep SparseStep::graph(GraphWeights weights, double gamma) {
  if (!(gamma > 0.0 && gamma <= 1.0)) {
    throw_invalid("reference", "gamma of a graph reference must lie in (0, 1], got {}", gamma);
  }
  check_form(weights);
  constexpr double kRowTolerance = 1e-6;
  const std::vector<Row> rows = rows_of(weights);
  double largest = 0.0;
  for (const Row& row : rows) largest = std::max(largest, sum_of(row));
  if (!(largest > 0.0 && std::isfinite(largest))) {
    throw_invalid("reference",
                  "row sums of a graph must be finite and one of them positive, got {}", largest);
  }
  SparsePower step{{0}, {}, {}};
  for (std::size_t x = 0; x < rows.size(); ++x) {
    const auto own = static_cast<std::int32_t>(x);
    std::map<std::int32_t, double> log_row;
    const double sum = sum_of(rows[x]);
    const double scale = sum >= (1.0 - kRowTolerance) * largest ? sum : largest;
    double moves = 0.0, keeps = 0.0;
    for (const auto& [to, weight] : rows[x]) {
      (to == own ? keeps : moves) += weight / scale;
      log_row[to] = std::log(gamma) + std::log(weight) - std::log(scale);
    }
    // Of the two ways to say what stays, the one that does not subtract near numbers.
    const double stays = (1.0 - gamma) + gamma * (keeps + (scale - sum) / scale);
    if (stays > 0.0) log_row[own] = stays < 0.5 ? std::log(stays) : std::log1p(-gamma * moves);
    for (const auto& [to, log] : log_row) add_entry(step, static_cast<std::size_t>(to), log);
    end_row(step);
  }
  SparseStep result(std::move(step), gamma);
  result.weights_ = std::make_shared<const GraphWeights>(std::move(weights));
  return result;
}

std::optional<std::pair<int, int>> SparseStep::unconnected() const {
  if (const auto to = unreached(*step_)) return std::pair(0, *to);
  if (const auto from = unreached(transposed(*step_))) return std::pair(*from, 0);
  return std::nullopt;
}

// Every row of a high power of a connected graph is it. Half a step and half no step has the same
// law and no period.
std::vector<double> SparseStep::log_stationary(const Context& context) const {
  const std::size_t S = step_->num_categories();
  SparsePower power = with_rest(*step_);
  constexpr double kSpread = 1e-14;
  double spread = std::numeric_limits<double>::infinity();
  for (int doubling = 0; doubling < 64 && !(spread < kSpread); ++doubling) {
    power = backend::multiply(context, power, power);
    for (std::size_t x = 0; x < S; ++x) {
      log_normalize(power.log.data() + power.first[x], power.first[x + 1] - power.first[x]);
    }
    if (!power.is_positive()) continue;
    spread = 0.0;
    for (std::size_t i = S; i < power.log.size(); ++i) {
      spread = std::max(spread, std::abs(power.log[i] - power.log[i % S]));
    }
  }
  power.log.resize(S);
  return power.log;
}

// W[y,x] pi[y] / pi[x]: its rows have the sums of those of W, since as much flows into a category
// as out of it.
SparseStep SparseStep::time_reversed(const Context& context) const {
  const std::vector<double> log_pi = log_stationary(context);
  const std::vector<Row> rows = rows_of(*weights_);
  std::vector<Row> back(rows.size());
  for (std::size_t x = 0; x < rows.size(); ++x) {
    for (const auto& [to, weight] : rows[x]) {
      const auto y = static_cast<std::size_t>(to);
      back[y][static_cast<std::int32_t>(x)] = std::exp(std::log(weight) + log_pi[x] - log_pi[y]);
    }
  }
  GraphWeights weights{{0}, {}, {}};
  for (const Row& row : back) {
    for (const auto& [to, weight] : row) {
      weights.to.push_back(to);
      weights.weight.push_back(weight);
    }
    weights.first.push_back(static_cast<std::int64_t>(weights.to.size()));
  }
  return graph(std::move(weights), gamma_);
}

double SparseStep::expected_movement() const {
  double sum = 0.0;
  for (std::size_t x = 0; x < step_->num_categories(); ++x) {
    for (std::size_t i = step_->first[x]; i < step_->first[x + 1]; ++i) {
      sum += std::exp(step_->log[i]) *
             std::abs(static_cast<double>(step_->to[i]) - static_cast<double>(x));
    }
  }
  return sum / static_cast<double>(step_->num_categories());
}

}  // namespace bridgemark
