#pragma once

#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/process/step_draws.h"

namespace bridgemark {

// The powers of a chain as the training kernels want them, with the weights of its steps. Throws
// InvalidArgument for a chain of several steps over a reference without tables.
template <typename T>
backend::ChainTables<T> make_chain_tables(const Context& context, const ReferenceChain& chain,
                                          const StepDraws& steps = {});

}  // namespace bridgemark
