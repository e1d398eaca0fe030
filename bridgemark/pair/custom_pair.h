#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "bridgemark/pair/pair_spec.h"

namespace bridgemark {

// A pair of the user's own as a front end is given it: its parts by their names or as arrays.
struct PairParts {
  PairSpec spec;  // all numbers but the two sizes, and the potentials where there are some
  // Where they are not given: what the arrays say, else the defaults of PairSpec.
  std::optional<int> dim;
  std::optional<int> num_categories;
  // "gaussian" or "uniform", or the probabilities [S,S] of an elementary step.
  std::variant<std::string, Matrix<double>> reference = std::string("gaussian");
  // p0: "gaussian" or "uniform", a pmf [D,S] of independent coordinates, or observed states [n,D].
  std::variant<std::string, Matrix<double>, States> source = std::string("gaussian");
};

// The reference of a name that is no matrix. Throws InvalidArgument for any other.
ReferenceKind named_reference(const std::string& name);

// What build_pair takes. Throws InvalidArgument for an unknown name, and where two parts say
// different sizes.
PairSpec custom_spec(PairParts parts);

// A preset with another seed: a pair of its own, whose name says so.
PairSpec sibling_of(PairSpec preset, std::uint64_t seed);

}  // namespace bridgemark
