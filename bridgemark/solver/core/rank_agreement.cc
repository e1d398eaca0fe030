#include "bridgemark/solver/core/rank_agreement.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/rank_group.h"
#include "bridgemark/io/fingerprint.h"

namespace bridgemark {

void each_of_any_rank(const Context& context, std::span<bool> votes) {
  if (!context.ranks) return;
  std::vector<double> values(votes.begin(), votes.end());
  context.ranks->all_max(values);
  std::ranges::transform(values, votes.begin(), [](double value) { return value > 0.0; });
}

bool any_rank(const Context& context, bool vote) {
  each_of_any_rank(context, {&vote, 1});
  return vote;
}

bool same_on_all_ranks(const Context& context, double value) {
  if (!context.ranks) return true;
  double ends[2] = {value, -value};
  context.ranks->all_max(ends);
  return ends[0] == -ends[1];
}

bool same_on_all_ranks(const Context& context, std::string_view text) {
  Fingerprint fingerprint;
  fingerprint.add_bytes(text);
  // Thirteen digits of it: as many bits as a double holds.
  const std::uint64_t bits = std::stoull(fingerprint.text().substr(0, 13), nullptr, 16);
  return same_on_all_ranks(context, static_cast<double>(bits));
}

void refuse_together(const Context& context, const std::function<void()>& check) {
  if (!context.ranks) return check();
  std::string message;
  try {
    check();
  } catch (const InvalidArgument& error) {
    message = error.what();
  }
  // The first rank that refuses has the largest vote.
  const double vote = message.empty() ? 0.0 : context.ranks->count() - context.ranks->rank();
  double largest = vote;
  context.ranks->all_max({&largest, 1});
  if (largest == 0.0) return;
  // Its message travels as a maximum of characters, the others' are all 0.
  constexpr std::size_t kMostCharacters = 1000;
  std::vector<double> characters(kMostCharacters, 0.0);
  for (std::size_t i = 0; vote == largest && i < std::min(message.size(), kMostCharacters); ++i) {
    characters[i] = static_cast<unsigned char>(message[i]);
  }
  context.ranks->all_max(characters);
  message.clear();
  for (const double character : characters) {
    if (character > 0.0) message += static_cast<char>(static_cast<unsigned char>(character));
  }
  throw InvalidArgument(message);
}

}  // namespace bridgemark
