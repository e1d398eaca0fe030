#pragma once

#include <algorithm>
#include <span>
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
};

std::span<const FamilyNumber> family_numbers();

}  // namespace bridgemark
