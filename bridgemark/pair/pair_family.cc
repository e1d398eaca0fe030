#include "bridgemark/pair/pair_family.h"

#include "bridgemark/core/error.h"

namespace bridgemark {

std::string_view pair_family_name(PairFamily family) {
  switch (family) {
    case PairFamily::kSphere:
      return "sphere";
    case PairFamily::kSpread:
      return "spread";
    case PairFamily::kChain:
      return "chain";
    case PairFamily::kTwoSided:
      return "twosided";
    case PairFamily::kDistilled:
      return "distilled";
    case PairFamily::kTree:
      return "tree";
  }
  return "";
}

PairFamily parse_pair_family(std::string_view name) {
  if (name == pair_family_name(PairFamily::kDistilled)) return PairFamily::kDistilled;
  return parse_built_family(name);
}

PairFamily parse_built_family(std::string_view name) {
  for (const PairFamily family : {PairFamily::kSphere, PairFamily::kSpread, PairFamily::kChain,
                                  PairFamily::kTwoSided, PairFamily::kTree}) {
    if (pair_family_name(family) == name) return family;
  }
  throw_invalid("pair", "family must be sphere, spread, chain, twosided or tree, got '{}'", name);
}

}  // namespace bridgemark
