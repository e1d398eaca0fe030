#pragma once

#include "bridgemark/backend/cuda/cp/cp_view.h"

// The steps of the matching loss in their order; each leaves what the next one needs in the view.
// backend/cpu/cp/matching_loss.cc has the formulas.
namespace bridgemark::backend::cuda {

// Sums over dimensions are made in slices of the components, sums over components (of V) in parts
// of view.tiles_of_part tiles.
inline constexpr int kSliceComponents = 2 * kTile;
constexpr int count_slices(const MatchingView& view) {
  return (view.Kp + kSliceComponents - 1) / kSliceComponents;
}
// Those of a launch.
constexpr int first_slice(const MatchingView& view) {
  return view.first_tile * kTile / kSliceComponents;
}
constexpr int own_slices(const MatchingView& view) {
  return (view.num_tiles * kTile + kSliceComponents - 1) / kSliceComponents;
}
constexpr int count_parts(const MatchingView& view) {
  const int tiles = view.Kp / kTile;
  return (tiles + view.tiles_of_part - 1) / view.tiles_of_part;
}

// Four tiles a part where that fills the device in one go, else as many blocks as there can be.
constexpr int choose_tiles_of_part(const MatchingView& view) {
  constexpr int kManyTiles = 768;
  return view.D * view.passes * (view.Kp / kTile) >= kManyTiles ? 4 : 1;
}

// Steps on view.num_tiles tiles from view.first_tile on say so. `follows`: the last work of the
// stream is a kernel that the step's beginning may overlap (overlap.h).

// log R and W, on some tiles, and V, in parts: matching_forward.cu.
void prepare_forward(const MatchingView& view);
void launch_propagation(const MatchingView& view, const Batch& batch, bool follows,
                        cudaStream_t stream);
void launch_mix(const MatchingView& view, bool follows, cudaStream_t stream);

// y, target, loss, and back to d loss / d V: matching_rows.cu.
void prepare_rows(const MatchingView& view);
void launch_rows(const MatchingView& view, const Batch& batch, cudaStream_t stream);

// The gradients through V and through R, and the update, on some tiles: matching_backward.cu.
void prepare_backward(const MatchingView& view);
void launch_backward(const MatchingView& view, const Batch& batch, bool follows,
                     cudaStream_t stream);

}  // namespace bridgemark::backend::cuda
