#include "bridgemark/core/suggest.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace bridgemark {

namespace {

// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::optional<std::string> near_name(std::string_view word,
                                     std::span<const std::string> candidates) {
  std::string nearest = nearest_name(word, candidates);
  const std::size_t allowed = word.size() < 3 ? 0 : (word.size() + 1) / 3;
  if (nearest.empty() || edit_distance(word, nearest) > allowed) return std::nullopt;
  return nearest;
}

}  // namespace bridgemark
