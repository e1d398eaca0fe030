#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bridgemark {

// The candidate that `word` is most likely a slip of: the one with the fewest letters added,
// dropped, replaced or swapped with their neighbour. None where that takes more than one of three
// and four letters, two of five to seven, and so on, and none of shorter words; then the only one
// that begins with the word.
std::optional<std::string> near_name(std::string_view word,
                                     std::span<const std::string> candidates);

// How a message about `word` goes on: "; the nearest is NAME" and "; did you mean 'NAME'?", or
// nothing where none is near.
std::string nearest_hint(std::string_view word, std::span<const std::string> candidates,
                         std::string_view the_nearest = "the nearest");
std::string meant_hint(std::string_view word, std::span<const std::string> candidates);

}  // namespace bridgemark
