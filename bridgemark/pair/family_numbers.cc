#include "bridgemark/pair/family_numbers.h"

namespace bridgemark {

std::span<const FamilyNumber> family_numbers() {
  static constexpr FamilyNumber kNumbers[] = {
      {"radius", PairFamily::kSphere, &PairSpec::radius},
      {"min_distance", PairFamily::kSpread, &PairSpec::min_distance},
  };
  return kNumbers;
}

}  // namespace bridgemark
