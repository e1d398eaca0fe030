#include "bridgemark/backend/cuda/matching_steps.h"

namespace bridgemark::backend::cuda {

void prepare_matching(const CpView& view) {
  prepare_forward(view);
  prepare_rows(view);
  prepare_backward(view);
}

void launch_matching(const CpView& view, const Batch& batch, cudaStream_t stream) {
  launch_forward(view, batch, stream);
  launch_rows(view, batch, stream);
  launch_backward(view, batch, stream);
}

}  // namespace bridgemark::backend::cuda
