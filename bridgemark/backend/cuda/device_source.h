#pragma once

#include <memory>
#include <vector>

#include "bridgemark/backend/cuda/buffer.h"
#include "bridgemark/backend/row_source.h"

namespace bridgemark::backend::cuda {

struct RowSourceView {
  const double* cumulative;  // [D,S] or null
  const std::int32_t* observed;
  unsigned long long num_observed;
  DrawKey key;
  bool has_step;
  DrawKey step_key;
  int num_components;
  const double *log_beta, *log_from, *q, *log_q, *to, *log_to, *step_cumulative;
  double* weights;  // [rows,K] scratch
};

// A source's tables in device memory, with room for `rows` rows drawn at once.
class DeviceSource {
 public:
  DeviceSource(const RowSource& source, std::size_t rows)
      : cumulative_(source.cumulative.data(), source.cumulative.size()),
        observed_(source.observed.data(), source.observed.size()) {
    view_.cumulative = cumulative_.get();
    view_.observed = observed_.get();
    view_.num_observed = source.observed.rows();
    view_.key = source.key;
    view_.step_key = source.step_key;
    view_.has_step = source.step != nullptr;
    if (!view_.has_step) return;
    const BridgeStep& step = *source.step;
    const auto upload = [&](const double* data, std::size_t count) -> const double* {
      tables_.push_back(std::make_unique<Buffer<double>>(data, count));
      return tables_.back()->get();
    };
    view_.num_components = static_cast<int>(step.num_components);
    view_.log_beta = upload(step.log_beta.data(), step.log_beta.size());
    view_.log_from = upload(step.log_from.data(), step.log_from.size());
    view_.q = upload(step.q.linear.data(), step.q.linear.size());
    view_.log_q = upload(step.q.log.data(), step.q.log.size());
    view_.to = upload(step.to.linear.data(), step.to.linear.size());
    view_.log_to = upload(step.to.log.data(), step.to.log.size());
    view_.step_cumulative = upload(step.cumulative.data(), step.cumulative.size());
    tables_.push_back(std::make_unique<Buffer<double>>(rows * step.num_components));
    view_.weights = tables_.back()->get();
  }

  const RowSourceView& view() const { return view_; }

 private:
  Buffer<double> cumulative_;
  Buffer<std::int32_t> observed_;
  std::vector<std::unique_ptr<Buffer<double>>> tables_;
  RowSourceView view_{};
};

// out0[i], out1[i] = row first_index + i of the source before and after its step.
void launch_pairs(const RowSourceView& source, int D, int S, std::uint64_t first_index,
                  std::size_t rows, std::int32_t* out0, std::int32_t* out1, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
