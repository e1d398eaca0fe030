#pragma once

#include <vector>

#include "bridgemark/pair/pair_spec.h"

namespace bridgemark {

// Pairs that were distilled from data of packages (scripts/data_presets.py) and come built in: what
// was fitted, rounded, is their truth. Each is a head, data_presets/NAME.json, and the logarithms
// of its tables in data_presets/NAME.txt.
const std::vector<PairSpec>& data_preset_specs();

// The pair of one of these specs or of its reversed form, by the spec's name. Throws
// InvalidArgument for any other name.
BenchmarkPair build_data_preset(const PairSpec& spec);

}  // namespace bridgemark
