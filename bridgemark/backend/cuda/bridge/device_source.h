#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "bridgemark/backend/cuda/bridge/bridge_tables.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/cuda/tree/tree_states.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/hidden_tree.h"

namespace bridgemark::backend::cuda {

// TreeRows in device memory.
struct TreeRowsView {
  int num_nodes, num_states;
  const std::int32_t *parent, *node_of;
  const double *root, *moves, *cores;
};

struct RowSourceView {
  const double* cumulative;  // [M*D,S] or null
  const double* components;  // [M] or null
  int num_source_components;
  const std::int32_t* observed;
  unsigned long long num_observed;
  TreeRowsView tree_rows;  // num_nodes 0: none
  DrawKey key;
  bool has_step;
  DrawKey step_key;
  int num_components;
  const double *log_beta, *log_from, *q, *log_q, *to, *log_to, *step_cumulative;
  bool is_chain, is_tree;
  HiddenChain chain;     // of a step whose component may change along the coordinates
  HiddenTree tree;       // of a step whose component may change from node to node
  double* weights;       // scratch of rows: [rows,K], of a chain [rows,(D+1)*K], of a tree
                         // [rows,(M+2)*K+M]
  std::int32_t* hidden;  // [rows,hidden_of_row]: the path of a chain, the states of nodes
  int hidden_of_row;     // D of a chain, M of a tree, of the source's or the step's
};

// q_ref(x_n | x_0, x_1) as PinnedRows has it, one n behind the other; null where there is none.
struct PinnedView {
  const double *before, *log_before, *after, *log_after;  // [num_steps,S,S]
  DrawKey time_key, state_key;
  const double* steps;  // sums of the probabilities of n, or null
};

// RowCoupling; null where rows stay as they were drawn.
struct CouplingView {
  const double* log_q;
  DrawKey key;
};

// A source's tables in device memory, with room for `rows` rows drawn at once.
class DeviceSource {
 public:
  DeviceSource(const RowSource& source, std::size_t rows) {
    view_.cumulative = memory_.upload(source.cumulative.data(), source.cumulative.size());
    view_.components = memory_.upload(source.components.data(), source.components.size());
    view_.num_source_components = static_cast<int>(source.components.size());
    view_.observed = memory_.upload(source.observed.data(), source.observed.size());
    view_.num_observed = source.observed.rows();
    if (source.tree) add_tree_rows(*source.tree);
    view_.key = source.key;
    view_.step_key = source.step_key;
    view_.has_step = source.step != nullptr;
    if (view_.has_step) add_step(*source.step);
    view_.weights = memory_.allocate<double>(rows * weights_of_row());
    view_.hidden = memory_.allocate<std::int32_t>(rows * hidden_of_row());
  }

  // Values of scratch that a row takes.
  std::size_t weights_of_row() const {
    if (!step_) return 0;
    if (step_->is_tree) return tree_draw_scratch(step_->tree);
    return step_->is_chain ? (step_->dim + 1) * step_->num_components : step_->num_components;
  }
  std::size_t hidden_of_row() const { return static_cast<std::size_t>(view_.hidden_of_row); }

  const RowSourceView& view() const { return view_; }

 private:
  void add_tree_rows(const TreeRows& rows) {
    view_.tree_rows = {static_cast<int>(rows.parent.size()),
                       static_cast<int>(rows.root.size()),
                       memory_.upload(rows.parent),
                       memory_.upload(rows.node_of),
                       memory_.upload(rows.root),
                       memory_.upload(rows.moves.data(), rows.moves.size()),
                       memory_.upload(rows.cores.data(), rows.cores.size())};
    view_.hidden_of_row = view_.tree_rows.num_nodes;
  }

  void add_step(const BridgeStep& step) {
    step_ = tables_of(step);
    view_.num_components = static_cast<int>(step_->num_components);
    view_.log_beta = step_->log_beta;
    view_.log_from = step_->log_from;
    view_.q = step_->q;
    view_.log_q = step_->log_q;
    view_.to = step_->to;
    view_.log_to = step_->log_to;
    view_.step_cumulative = step_->cumulative;
    view_.is_chain = step_->is_chain;
    view_.chain = step_->chain;
    view_.is_tree = step_->is_tree;
    view_.tree = step_->tree;
    const std::size_t hidden = step_->is_tree ? step_->tree.M : step_->is_chain ? step_->dim : 0;
    view_.hidden_of_row = std::max(view_.hidden_of_row, static_cast<int>(hidden));
  }

  Memory memory_;
  std::shared_ptr<const BridgeTables> step_;
  RowSourceView view_{};
};

inline PinnedView upload_pinned(Memory& memory, const PinnedRows& rows) {
  if (rows.before.empty()) return {};
  const auto join = [&](const std::vector<ScaledRows>& parts, bool log) {
    std::vector<double> all;
    for (const ScaledRows& part : parts) {
      const Matrix<double>& values = log ? part.log : part.linear;
      all.insert(all.end(), values.data(), values.data() + values.size());
    }
    return memory.upload(all);
  };
  return {join(rows.before, false), join(rows.before, true), join(rows.after, false),
          join(rows.after, true),   rows.time_key,           rows.state_key,
          memory.upload(rows.steps)};
}

// out0[i], out1[i] = row first_index + i of the source before and after its step; either may be
// null, and without a step the second is not used.
void launch_pairs(const RowSourceView& source, int D, int S, std::uint64_t first_index,
                  std::size_t rows, std::int32_t* out0, std::int32_t* out1, cudaStream_t stream);

// Brings the rows of x1 into the order of their pairs with x0: `batches` of batch_rows rows each,
// one behind the other, from that of update *first_update + ahead on.
void launch_coupling(const CouplingView& coupling, int D, int S,
                     const unsigned long long* first_update, unsigned ahead, int batch_rows,
                     int batches, const std::int32_t* x0, std::int32_t* x1, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
