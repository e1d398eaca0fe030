#pragma once

#include <span>
#include <string_view>

#include "bridgemark/pair/pair_spec.h"

namespace bridgemark {

// A number of a PairSpec that one family alone takes.
struct FamilyNumber {
  std::string_view name;
  PairFamily family;
  double PairSpec::*value;
};

std::span<const FamilyNumber> family_numbers();

}  // namespace bridgemark
