#pragma once

#include "bridgemark/backend/cuda/cp_view.h"

// The steps of the matching loss in their order; each leaves what the next one needs in the view.
// cpu/matching_loss.cc has the formulas.
namespace bridgemark::backend::cuda {

// V is summed in slices of the components, each apart.
inline constexpr int kSliceComponents = 2 * kTile;
constexpr int matching_slices(int padded_components) {
  return (padded_components + kSliceComponents - 1) / kSliceComponents;
}

// log R, W and V, the latter in slices of the components: matching_forward.cu.
void prepare_forward(const CpView& view);
void launch_forward(const CpView& view, const Batch& batch, cudaStream_t stream);

// y, target, loss, and back to d loss / d V: matching_rows.cu.
void prepare_rows(const CpView& view);
void launch_rows(const CpView& view, const Batch& batch, cudaStream_t stream);

// The gradients through V and through R, and the update: matching_backward.cu.
void prepare_backward(const CpView& view);
void launch_backward(const CpView& view, const Batch& batch, cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
