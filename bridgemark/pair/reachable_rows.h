#pragma once

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// Under a reference with probabilities of 0 there is no bridge between two sets of rows unless each
// row of x1 is led to from some row of x0, and each row of x0 leads to some of x1. Throws
// InvalidArgument that names the first row for which it is not so; rows of no category of the
// reference are left to whoever checks them.
void require_reachable(const Context& context, const States& x0, const States& x1,
                       const ReferenceProcess& reference);

}  // namespace bridgemark
