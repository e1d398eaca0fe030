#include "bridgemark/core/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace bridgemark {

namespace {

// Levenshtein distance in which a swap of two neighbours counts once, with the last three rows.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::array<std::vector<std::size_t>, 3> rows;
  for (std::vector<std::size_t>& row : rows) row.resize(b.size() + 1);
  auto& [before, above, row] = rows;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> only_one_that_begins_with(std::string_view word,
                                                     std::span<const std::string> candidates) {
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    if (!candidate.starts_with(word)) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

}  // namespace

std::optional<std::string> near_name(std::string_view word,
                                     std::span<const std::string> candidates) {
  if (word.size() < 3) return std::nullopt;
  std::size_t most = (word.size() + 1) / 3;
  std::optional<std::string> nearest;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > most || (nearest && distance == most)) continue;
    most = distance;
    nearest = candidate;
  }
  return nearest ? nearest : only_one_that_begins_with(word, candidates);
}

std::string nearest_hint(std::string_view word, std::span<const std::string> candidates,
                         std::string_view the_nearest) {
  const std::optional<std::string> near = near_name(word, candidates);
  return near ? fmt::format("; {} is {}", the_nearest, *near) : std::string();
}

std::string meant_hint(std::string_view word, std::span<const std::string> candidates) {
  const std::optional<std::string> near = near_name(word, candidates);
  return near ? fmt::format("; did you mean '{}'?", *near) : std::string();
}

}  // namespace bridgemark
