#pragma once

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/pair_spec.h"

namespace bridgemark {

// The categories [K,D] that the components of a spec are centred on, by its family:
//   sphere: a point uniform on the sphere of spec.radius, quantised on [-5, 5]; redrawn while
//   within
//           2.5 sigma of an earlier one.
//   spread, chain, twosided: each coordinate a whole number uniform on 5..S-6; redrawn while closer
//   than
//           spec.min_distance, in categories, to an earlier one.
// A mean is tried 100 times; the last try stays, however close. Throws InvalidArgument where 5..S-6
// is empty. Each (component, try) has draws of its own. A spread mean takes only exact operations.
Matrix<int> draw_component_means(const PairSpec& spec, const Context& context = {});

// Throws InvalidArgument where two of them are closer than spec.min_distance. For a distance that a
// user has asked for: the families' own is one that the last try may miss.
void require_min_distance(const PairSpec& spec, const Context& context = {});

}  // namespace bridgemark
