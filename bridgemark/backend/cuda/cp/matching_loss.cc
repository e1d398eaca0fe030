#include <algorithm>

#include "bridgemark/backend/cuda/cp/matching_steps.h"

namespace bridgemark::backend::cuda {

namespace {

// Tiles of each half: about a block for each multiprocessor. Below, halves would only add waits.
constexpr int kTilesOfHalf = 128;

// One of the two halves of the components, in whole slices; the second is empty where there are too
// few tiles.
MatchingView half_of(MatchingView view, bool second) {
  constexpr int kSliceTiles = kSliceComponents / kTile;
  const int tiles = view.Kp / kTile, half = (count_slices(view) + 1) / 2 * kSliceTiles;
  const int first = view.D * tiles >= 2 * kTilesOfHalf ? std::min(tiles, half) : tiles;
  view.first_tile = second ? first : 0;
  view.num_tiles = second ? tiles - first : first;
  return view;
}

}  // namespace

void prepare_matching(const MatchingView& view) {
  prepare_forward(view);
  prepare_rows(view);
  prepare_backward(view);
}

void launch_matching(const MatchingView& view, const Batch& batch, Stream& first, Stream& second) {
  const MatchingView halves[] = {half_of(view, false), half_of(view, true)};
  const bool split = halves[1].num_tiles > 0;
  // The first update of a row comes after the batches, and right after a fork, which the entropy
  // makes as well, there is no kernel of the second stream's own to overlap.
  const bool follows = view.ahead > 0;
  launch_propagation(halves[0], batch, follows, first);
  if (split) {
    launch_propagation(halves[1], batch, follows && view.entropy == 0.0f, second);
    first.follow(second);
  }
  launch_mix(view, !split, first);
  launch_rows(view, batch, first);
  if (split) {
    second.follow(first);
    launch_backward(halves[1], batch, false, second);
  }
  launch_backward(halves[0], batch, true, first);
}

}  // namespace bridgemark::backend::cuda
