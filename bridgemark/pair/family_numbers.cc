#include "bridgemark/pair/family_numbers.h"

#include <fmt/ranges.h>

#include "bridgemark/core/error.h"

namespace bridgemark {

std::string FamilyNumber::family_names() const {
  std::vector<std::string_view> names;
  for (const PairFamily family : families) names.push_back(pair_family_name(family));
  return fmt::format("{}", fmt::join(names, " or "));
}

std::span<const FamilyNumber> family_numbers() {
  static const FamilyNumber numbers[] = {
      {"radius", {PairFamily::kSphere}, &PairSpec::radius},
      {"min_distance",
       {PairFamily::kSpread, PairFamily::kChain, PairFamily::kTwoSided, PairFamily::kTree},
       &PairSpec::min_distance},
      {"switch_rate", {PairFamily::kChain, PairFamily::kTree}, &PairSpec::switch_rate},
  };
  return numbers;
}

void set_family_number(PairSpec& spec, std::string_view name, double value) {
  const std::span<const FamilyNumber> numbers = family_numbers();
  const auto number = std::find_if(numbers.begin(), numbers.end(),
                                   [&](const FamilyNumber& one) { return one.name == name; });
  if (number == numbers.end()) throw_invalid("pair", "no family takes a number '{}'", name);
  if ((spec.potential || spec.chain_potential || spec.tree_potential) &&
      !draws_source_potential(spec)) {
    throw_invalid("pair", "{} goes with a family's potential, got {} and a potential of your own",
                  name, value);
  }
  if (!number->belongs_to(spec.family)) {
    throw_invalid("pair", "{} goes with family {}, got {} and family {}", name,
                  number->family_names(), value, pair_family_name(spec.family));
  }
  spec.*number->value = value;
}

}  // namespace bridgemark
