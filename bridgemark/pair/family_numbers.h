#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bridgemark/pair/pair_spec.h"

namespace bridgemark {

// A number of a PairSpec that some families alone take.
struct FamilyNumber {
  std::string_view name;
  std::vector<PairFamily> families;
  double PairSpec::*value;

  bool belongs_to(PairFamily family) const {
    return std::find(families.begin(), families.end(), family) != families.end();
  }
  std::string family_names() const;  // "spread or chain"
};

std::span<const FamilyNumber> family_numbers();

// Throws InvalidArgument where the number would do nothing: the spec's family takes no such, or its
// potentials are given.
void set_family_number(PairSpec& spec, std::string_view name, double value);

}  // namespace bridgemark
