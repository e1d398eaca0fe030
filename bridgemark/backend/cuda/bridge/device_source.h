#pragma once

#include <memory>
#include <vector>

#include "bridgemark/backend/cuda/bridge/bridge_tables.h"
#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/math/hidden_chain.h"

namespace bridgemark::backend::cuda {

struct RowSourceView {
  const double* cumulative;  // [M*D,S] or null
  const double* components;  // [M] or null
  int num_source_components;
  const std::int32_t* observed;
  unsigned long long num_observed;
  DrawKey key;
  bool has_step;
  DrawKey step_key;
  int num_components;
  const double *log_beta, *log_from, *q, *log_q, *to, *log_to, *step_cumulative;
  bool is_chain;
  HiddenChain chain;    // of a step whose component may change along the coordinates
  double* weights;      // scratch of rows: [rows,K], of a chain [rows,(D+1)*K]
  std::int32_t* paths;  // [rows,D] of a chain
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

// Throws DeviceError for rows of a hidden tree, which the CPU alone draws.
void refuse_hidden_tree(const RowSource& source);

// A source's tables in device memory, with room for `rows` rows drawn at once.
class DeviceSource {
 public:
  DeviceSource(const RowSource& source, std::size_t rows) {
    refuse_hidden_tree(source);
    view_.cumulative = memory_.upload(source.cumulative.data(), source.cumulative.size());
    view_.components = memory_.upload(source.components.data(), source.components.size());
    view_.num_source_components = static_cast<int>(source.components.size());
    view_.observed = memory_.upload(source.observed.data(), source.observed.size());
    view_.num_observed = source.observed.rows();
    view_.key = source.key;
    view_.step_key = source.step_key;
    view_.has_step = source.step != nullptr;
    if (!view_.has_step) return;
    step_ = tables_of(*source.step);
    const std::size_t D = step_->dim, K = step_->num_components;
    view_.num_components = static_cast<int>(K);
    view_.log_beta = step_->log_beta;
    view_.log_from = step_->log_from;
    view_.q = step_->q;
    view_.log_q = step_->log_q;
    view_.to = step_->to;
    view_.log_to = step_->log_to;
    view_.step_cumulative = step_->cumulative;
    view_.is_chain = step_->is_chain;
    view_.chain = step_->chain;
    view_.weights = memory_.allocate<double>(rows * weights_of_row());
    view_.paths = memory_.allocate<std::int32_t>(view_.is_chain ? rows * D : 0);
  }

  // Values of scratch that a row takes.
  std::size_t weights_of_row() const {
    if (!step_) return 0;
    return step_->is_chain ? (step_->dim + 1) * step_->num_components : step_->num_components;
  }

  const RowSourceView& view() const { return view_; }

 private:
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
