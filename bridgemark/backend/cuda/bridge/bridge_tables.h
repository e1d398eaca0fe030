#pragma once

#include <cstddef>
#include <memory>

#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/plan/bridge_step.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/hidden_tree.h"

namespace bridgemark::backend::cuda {

// A bridge step's tables in device memory, as BridgeStep has them.
struct BridgeTables {
  std::size_t dim = 0, num_categories = 0, num_components = 0;
  bool is_chain = false, is_tree = false;
  const double *log_beta = nullptr, *log_from = nullptr, *q = nullptr, *log_q = nullptr,
               *to = nullptr, *log_to = nullptr;
  const double* log_after = nullptr;   // [D,S,K], log_to as log_from lies
  const double* cumulative = nullptr;  // null where there are no sums
  HiddenChain chain{};
  HiddenChain chain_after{};        // with the emissions of where a step leads, logarithms alone
  HiddenTree tree{}, tree_after{};  // likewise

  Memory memory;
  std::shared_ptr<const void> cores;  // of a potential, where log_after are these
};

// The tables of a step: made when they are first asked for and kept with it.
std::shared_ptr<const BridgeTables> tables_of(const BridgeStep& step);

}  // namespace bridgemark::backend::cuda
