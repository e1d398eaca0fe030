#include "bridgemark/backend/plan/sparse_power.h"

#include <algorithm>
#include <cmath>

#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/categorical.h"
#include "bridgemark/math/log_domain.h"

namespace bridgemark::backend {

namespace {

struct SparseRow {
  std::vector<std::int32_t> to;
  std::vector<double> log;
};

// The entries over the maximum of their row, and its logarithm.
struct ScaledEntries {
  std::vector<double> high;    // [S]
  std::vector<double> linear;  // [entries]
};

ScaledEntries scaled(const SparsePower& q) {
  ScaledEntries out{std::vector<double>(q.num_categories(), kLogZero),
                    std::vector<double>(q.num_entries())};
  for (std::size_t x = 0; x < q.num_categories(); ++x) {
    double& high = out.high[x];
    for (std::size_t i = q.first[x]; i < q.first[x + 1]; ++i) high = std::max(high, q.log[i]);
    for (std::size_t i = q.first[x]; i < q.first[x + 1]; ++i) {
      out.linear[i] = std::exp(q.log[i] - high);
    }
  }
  return out;
}

// The rows of a product a b, one after another. As in a product of tables, a sum of scaled numbers
// above kLinearFloor has lost nothing; any other is made again in the log domain.
class RowProduct {
 public:
  RowProduct(const SparsePower& a, const SparsePower& b, const ScaledEntries& entries_of_b)
      : a_(a),
        b_(b),
        linear_(entries_of_b.linear),
        high_(entries_of_b.high),
        sums_(b.num_categories()),
        is_reached_(b.num_categories()) {}

  SparseRow row(std::size_t x) {
    const double high = scale(x);
    std::size_t lowest = sums_.size(), highest = 0;
    for (std::size_t i = a_.first[x]; i < a_.first[x + 1]; ++i) {
      const double weight = std::exp(a_.log[i] + high_[middle(i)] - high);
      const std::size_t begin = b_.first[middle(i)], end = b_.first[middle(i) + 1];
      for (std::size_t j = begin; j < end; ++j) {
        const auto y = static_cast<std::size_t>(b_.to[j]);
        sums_[y] += weight * linear_[j];
        is_reached_[y] = 1;
      }
      lowest = std::min(lowest, static_cast<std::size_t>(b_.to[begin]));
      highest = std::max(highest, static_cast<std::size_t>(b_.to[end - 1]));
    }
    SparseRow row;
    for (std::size_t y = lowest; y <= highest; ++y) {
      if (!is_reached_[y]) continue;
      row.to.push_back(static_cast<std::int32_t>(y));
      row.log.push_back(sums_[y] >= kLinearFloor ? high + std::log(sums_[y]) : exactly(x, y));
      sums_[y] = 0.0;
      is_reached_[y] = 0;
    }
    return row;
  }

 private:
  std::size_t middle(std::size_t i) const { return static_cast<std::size_t>(a_.to[i]); }

  double scale(std::size_t x) const {
    double high = kLogZero;
    for (std::size_t i = a_.first[x]; i < a_.first[x + 1]; ++i) {
      high = std::max(high, a_.log[i] + high_[middle(i)]);
    }
    return high;
  }

  double exactly(std::size_t x, std::size_t y) {
    terms_.clear();
    for (std::size_t i = a_.first[x]; i < a_.first[x + 1]; ++i) {
      terms_.push_back(a_.log[i] + b_.log_entry(middle(i), y));
    }
    return log_sum(terms_.data(), terms_.size());
  }

  const SparsePower& a_;
  const SparsePower& b_;
  const std::vector<double>&linear_, &high_;
  std::vector<double> sums_, terms_;
  std::vector<char> is_reached_;
};

// The cores of one coordinate, [S,K], over the maximum of each component.
class ScaledCores {
 public:
  ScaledCores(const Array3<double>& log_cores, std::size_t d)
      : log_(log_cores.row(d, 0)),
        num_components_(log_cores.extent(2)),
        linear_(log_cores.extent(1) * num_components_),
        high_(num_components_, kLogZero),
        sums_(num_components_) {
    for (std::size_t i = 0; i < linear_.size(); ++i) {
      high_[i % num_components_] = std::max(high_[i % num_components_], log_[i]);
    }
    for (std::size_t i = 0; i < linear_.size(); ++i) {
      const double high = high_[i % num_components_];
      linear_[i] = high == kLogZero ? 0.0 : std::exp(log_[i] - high);
    }
  }

  // out[K], as seen from x.
  void write_seen(const SparsePower& q, const ScaledEntries& entries, std::size_t x, double* out) {
    std::ranges::fill(sums_, 0.0);
    for (std::size_t i = q.first[x]; i < q.first[x + 1]; ++i) {
      const double* from = linear_.data() + static_cast<std::size_t>(q.to[i]) * num_components_;
      for (std::size_t k = 0; k < num_components_; ++k) sums_[k] += entries.linear[i] * from[k];
    }
    for (std::size_t k = 0; k < num_components_; ++k) {
      out[k] = sums_[k] >= kLinearFloor ? entries.high[x] + high_[k] + std::log(sums_[k])
                                        : exactly(q, x, k);
    }
  }

 private:
  double exactly(const SparsePower& q, std::size_t x, std::size_t k) {
    terms_.clear();
    for (std::size_t i = q.first[x]; i < q.first[x + 1]; ++i) {
      terms_.push_back(q.log[i] + log_[static_cast<std::size_t>(q.to[i]) * num_components_ + k]);
    }
    return log_sum(terms_.data(), terms_.size());
  }

  const double* log_;
  std::size_t num_components_;
  std::vector<double> linear_, high_, sums_, terms_;
};

}  // namespace

std::size_t SparsePower::bytes() const {
  return first.size() * sizeof(first[0]) + num_entries() * (sizeof(to[0]) + sizeof(log[0]));
}

double SparsePower::log_entry(std::size_t from, std::size_t to_state) const {
  const auto begin = to.begin() + static_cast<std::ptrdiff_t>(first[from]),
             end = to.begin() + static_cast<std::ptrdiff_t>(first[from + 1]);
  const auto found = std::lower_bound(begin, end, static_cast<std::int32_t>(to_state));
  const bool is_here = found != end && static_cast<std::size_t>(*found) == to_state;
  return is_here ? log[static_cast<std::size_t>(found - to.begin())] : kLogZero;
}

Matrix<double> SparsePower::log_table() const {
  const std::size_t S = num_categories();
  Matrix<double> table(S, S, kLogZero);
  for (std::size_t x = 0; x < S; ++x) {
    for (std::size_t i = first[x]; i < first[x + 1]; ++i) {
      table(x, static_cast<std::size_t>(to[i])) = log[i];
    }
  }
  return table;
}

SparsePower sparse_identity(std::size_t num_categories) {
  SparsePower identity;
  for (std::size_t s = 0; s < num_categories; ++s) {
    identity.first.push_back(s);
    identity.to.push_back(static_cast<std::int32_t>(s));
  }
  identity.first.push_back(num_categories);
  identity.log.assign(num_categories, 0.0);
  return identity;
}

SparsePower multiply(const Context& context, const SparsePower& a, const SparsePower& b) {
  const std::size_t S = a.num_categories();
  const ScaledEntries entries_of_b = scaled(b);
  std::vector<SparseRow> rows(S);
  constexpr std::size_t kRows = 64;
  const std::size_t ways = a.num_entries() / S * (b.num_entries() / S);
  parallel_blocks(context, S, prompt_grain(kRows, ways + S),
                  [&](std::size_t first, std::size_t last) {
                    RowProduct product(a, b, entries_of_b);
                    for (std::size_t x = first; x < last; ++x) rows[x] = product.row(x);
                  });
  SparsePower product;
  product.first.reserve(S + 1);
  product.first.push_back(0);
  for (const SparseRow& row : rows) product.first.push_back(product.first.back() + row.to.size());
  const std::size_t entries = product.first.back();
  require_memory(static_cast<double>(entries * (sizeof(std::int32_t) + sizeof(double))),
                 fmt::format("a power of a reference on {} categories", S),
                 "the number of categories or of steps");
  product.to.reserve(entries);
  product.log.reserve(entries);
  for (SparseRow& row : rows) {
    product.to.insert(product.to.end(), row.to.begin(), row.to.end());
    product.log.insert(product.log.end(), row.log.begin(), row.log.end());
    row = {};
  }
  return product;
}

void propagate_cores(const Context& context, const SparsePower& q, const Array3<double>& log_cores,
                     Array3<double>& out) {
  const ScaledEntries entries = scaled(q);
  parallel_blocks(context, log_cores.extent(0), 1, [&](std::size_t d, std::size_t) {
    ScaledCores cores(log_cores, d);
    for (std::size_t x = 0; x < q.num_categories(); ++x) {
      cores.write_seen(q, entries, x, out.row(d, x));
    }
  });
}

}  // namespace bridgemark::backend
