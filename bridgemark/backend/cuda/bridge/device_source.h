#pragma once

#include <vector>

#include "bridgemark/backend/cuda/runtime/buffer.h"
#include "bridgemark/backend/row_source.h"
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

// A source's tables in device memory, with room for `rows` rows drawn at once.
class DeviceSource {
 public:
  DeviceSource(const RowSource& source, std::size_t rows) {
    view_.cumulative = memory_.upload(source.cumulative.data(), source.cumulative.size());
    view_.components = memory_.upload(source.components.data(), source.components.size());
    view_.num_source_components = static_cast<int>(source.components.size());
    view_.observed = memory_.upload(source.observed.data(), source.observed.size());
    view_.num_observed = source.observed.rows();
    view_.key = source.key;
    view_.step_key = source.step_key;
    view_.has_step = source.step != nullptr;
    if (!view_.has_step) return;
    const BridgeStep& step = *source.step;
    const auto upload = [&](const auto& table) {
      return memory_.upload(table.data(), table.size());
    };
    view_.num_components = static_cast<int>(step.num_components);
    view_.log_beta = upload(step.log_beta);
    view_.log_from = upload(step.log_from);
    view_.q = upload(step.q.linear);
    view_.log_q = upload(step.q.log);
    view_.to = upload(step.to.linear);
    view_.log_to = upload(step.to.log);
    view_.step_cumulative = upload(step.cumulative);
    view_.is_chain = step.is_chain();
    if (!view_.is_chain) {
      view_.weights = memory_.allocate<double>(rows * step.num_components);
      return;
    }
    view_.chain = step.chain();
    view_.chain.log_start = view_.log_beta;
    view_.chain.start = upload(step.start);
    view_.chain.log_moves = upload(step.log_moves);
    view_.chain.moves = upload(step.moves);
    view_.chain.log_emission = view_.log_from;
    view_.chain.emission = upload(step.from);
    view_.weights = memory_.allocate<double>(rows * (step.dim + 1) * step.num_components);
    view_.paths = memory_.allocate<std::int32_t>(rows * step.dim);
  }

  const RowSourceView& view() const { return view_; }

 private:
  Memory memory_;
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

// out0[i], out1[i] = row first_index + i of the source before and after its step.
void launch_pairs(const RowSourceView& source, int D, int S, std::uint64_t first_index,
                  std::size_t rows, std::int32_t* out0, std::int32_t* out1, cudaStream_t stream);

// Brings the rows of x1 into the order of their pairs with x0: `batches` of batch_rows rows each,
// one behind the other, from that of update *first_update + ahead on.
void launch_coupling(const CouplingView& coupling, int D, int S,
                     const unsigned long long* first_update, unsigned ahead, int batch_rows,
                     int batches, const std::int32_t* x0, std::int32_t* x1, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
