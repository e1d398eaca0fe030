#pragma once

#include "bridgemark/pair/pair_spec.h"

namespace bridgemark::fuzz {

// 3^2 states, two components, four steps; a test set of four rows.
inline const BenchmarkPair& tiny_pair() {
  static const BenchmarkPair pair = [] {
    PairSpec spec;
    spec.name = "tiny";
    spec.dim = 2;
    spec.num_categories = 3;
    spec.num_components = 2;
    spec.gamma = 2.0;
    spec.total_steps = 4;
    spec.sigma = 0.8;
    spec.radius = 1.0;
    BenchmarkPair made = build_pair(spec);
    made.store_test_set(made.sample_joint({}, 4, 1));
    return made;
  }();
  return pair;
}

}  // namespace bridgemark::fuzz
