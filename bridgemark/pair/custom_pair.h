#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/process/given_reference.h"

namespace bridgemark {

// A pair of the user's own as a front end is given it: its parts by their names or as arrays.
struct PairParts {
  PairSpec spec;  // all numbers but those below, and the potentials where there are some
  // Where they are not given: what the arrays say, else the defaults of PairSpec, as for each.
  std::optional<int> dim;
  std::optional<int> num_categories;
  // Given, it goes with any reference but a matrix.
  std::optional<double> gamma;
  // Given, means that are closer are refused.
  std::optional<double> min_distance;
  // Of family tree whose potential is drawn: "binary", "quadtree" or a shape of one's own.
  std::optional<std::variant<std::string, TreeShape>> tree;
  GivenReference reference = std::string("gaussian");
  // p0: "gaussian" or "uniform", a pmf [D,S] of independent coordinates, or observed states [n,D].
  std::variant<std::string, Matrix<double>, States> source = std::string("gaussian");
};

// The reference of a name, one that has a gamma alone. Throws InvalidArgument for any other.
ReferenceKind named_reference(const std::string& name);

// What build_pair takes. Throws InvalidArgument for an unknown name, where two parts say different
// sizes, and for a number that would not be used or cannot be met.
PairSpec custom_spec(PairParts parts, const Context& context = {});

// A preset with another seed: a pair of its own, whose name says so. Throws InvalidArgument for
// another seed of a pair from data, which is one pair alone.
PairSpec sibling_of(PairSpec preset, std::uint64_t seed);

}  // namespace bridgemark
