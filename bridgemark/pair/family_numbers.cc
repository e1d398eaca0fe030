#include "bridgemark/pair/family_numbers.h"

namespace bridgemark {

std::span<const FamilyNumber> family_numbers() {
  static const FamilyNumber numbers[] = {
      {"radius", {PairFamily::kSphere}, &PairSpec::radius},
      {"min_distance",
       {PairFamily::kSpread, PairFamily::kChain, PairFamily::kTwoSided},
       &PairSpec::min_distance},
      {"switch_rate", {PairFamily::kChain}, &PairSpec::switch_rate},
  };
  return numbers;
}

}  // namespace bridgemark
