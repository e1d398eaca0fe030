#pragma once

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// Whether the rows seem to be given in the wrong order: by their single coordinates x0 is nearer to
// training_x1 than to training_x0, and x1 to training_x0, both beyond five standard errors. None is
// empty, and all are states of num_categories.
bool ends_look_swapped(const Context& context, StatesView x0, StatesView x1, StatesView training_x0,
                       StatesView training_x1, int num_categories);

}  // namespace bridgemark
