#include "bridgemark/backend/cpu/cp/matching_bands.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bridgemark/backend/cpu/cp/rank_one_powers.h"

namespace bridgemark::backend::cpu {

template <typename T>
MatchingBands<T>::MatchingBands(const ChainTables<T>& chain, StatesView x_n, StatesView x1,
                                std::span<const std::int32_t> n, bool all)
    : chain_(chain),
      x_(x_n),
      x1_(x1),
      n_(n),
      all_(all || is_rank_one(chain)),
      S_(chain.num_categories),
      B_(x_n.rows),
      used_(x_n.cols),
      order_(x_n.cols * B_),
      bands_(x_n.cols * kLevels * B_),
      joint_bands_(x_n.cols * kLevels * num_groups(B_)),
      categories_(S_ + 1),
      rows_(std::make_unique_for_overwrite<std::uint32_t[]>(x_n.cols * kLevels * num_groups(S_) *
                                                            (B_ + 2))),
      by_row_(x_n.cols * kLevels * num_groups(B_)),
      by_category_(x_n.cols * kLevels * num_groups(S_)) {
  std::iota(categories_.begin(), categories_.end() - 1, 0u);
}

template <typename T>
const T* MatchingBands<T>::source(std::size_t b, std::size_t d) const {
  return chain_.linear_power(chain_.num_steps - n_[b]) + static_cast<std::size_t>(x_(b, d)) * S_;
}

template <typename T>
T MatchingBands<T>::negligible(std::size_t d, std::size_t level, std::size_t b) const {
  if (all_) return T(0);
  const T end = source(b, d)[static_cast<std::size_t>(x1_(b, d))];
  const T product = std::numeric_limits<T>::epsilon() / 4 * kLowest[level] * end;
  return product < std::numeric_limits<T>::min() ? T(0) : product;
}

namespace {

// How many elements, `step` apart from each other, sum up to at most `limit`: of `count` at most.
template <typename T>
std::size_t count_negligible(const T* q, std::ptrdiff_t step, std::size_t count, T limit) {
  std::size_t found = 0;
  T sum = T(0);
  for (; found + 4 <= count; found += 4, q += 4 * step) {
    const T next = sum + ((q[0] + q[step]) + (q[2 * step] + q[3 * step]));
    if (next > limit) break;
    sum = next;
  }
  for (; found < count && (sum += *q) <= limit; ++found) q += step;
  return found;
}

template <typename T>
Band find_band(const T* source, std::size_t size, T negligible) {
  if (negligible == T(0)) return {0, static_cast<std::uint32_t>(size)};
  const std::size_t first = count_negligible(source, 1, size - 1, negligible),
                    behind = count_negligible(source + size - 1, -1, size - 1 - first, negligible);
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(size - behind)};
}

// By first, last and row: S is at most 2^14.
std::uint64_t place(Band band, std::uint32_t row) {
  return std::uint64_t{band.first} << 48 | std::uint64_t{band.last} << 32 | row;
}

}  // namespace

template <typename T>
void MatchingBands<T>::find(std::size_t d, Levels used) {
  used_[d] = used;
  std::uint32_t* order = order_.data() + d * B_;
  std::iota(order, order + B_, 0u);
  for (std::size_t level = 0; level < kLevels; ++level) {
    if (!used[level]) continue;
    Band* bands = bands_.data() + (d * kLevels + level) * B_;
    for (std::size_t b = 0; b < B_; ++b) {
      bands[b] = find_band(source(b, d), S_, negligible(d, level, b));
    }
    if (level == lowest_level(d)) {
      std::sort(order, order + B_, [&](std::uint32_t i, std::uint32_t j) {
        return place(bands[i], i) < place(bands[j], j);
      });
    }
    list_terms(d, level);
  }
}

template <typename T>
void MatchingBands<T>::list_terms(std::size_t d, std::size_t level) {
  for (std::size_t group = 0; group < num_groups(B_); ++group) {
    const std::size_t first = group * kGroupRows, count = std::min(B_ - first, kGroupRows);
    Band joint{static_cast<std::uint32_t>(S_), 0};
    for (const std::uint32_t b : order(d).subspan(first, count)) {
      joint.first = std::min(joint.first, band(d, level, b).first);
      joint.last = std::max(joint.last, band(d, level, b).last);
    }
    const std::size_t at = (d * kLevels + level) * num_groups(B_) + group;
    joint_bands_[at] = joint;
    by_row_[at] = {categories_.data() + joint.first, joint.last - joint.first};
  }
  const std::size_t at = (d * kLevels + level) * num_groups(S_);
  for (std::size_t group = 0; group < num_groups(S_); ++group) {
    std::uint32_t *rows = rows_.get() + (at + group) * (B_ + 2), *end = rows;
    const std::size_t first = group * kGroupRows;
    for (std::size_t b = 0; b < B_; ++b) {
      *end = static_cast<std::uint32_t>(b);
      end += band(d, level, b).first < first + kGroupRows && band(d, level, b).last > first;
    }
    *end = 0;
    if (end == rows) *++end = 0;  // a product has a term: that of row 0 does no harm
    by_category_[at + group] = {rows, static_cast<std::size_t>(end - rows)};
  }
}

template <typename T>
T MatchingBands<T>::counts_from(std::size_t d, std::size_t b) const {
  const T limit = negligible(d, lowest_level(d), b);
  return limit > T(0) ? std::log(4 * limit) : std::numeric_limits<T>::lowest();
}

template class MatchingBands<float>;
template class MatchingBands<double>;

}  // namespace bridgemark::backend::cpu
