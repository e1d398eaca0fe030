#include "bridgemark/solver/csbm/judged_pairs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/states.h"
#include "bridgemark/process/pinned_reference.h"

namespace bridgemark {

namespace {

// Details of DrawPurpose::kHoldout after those of the two ends; an iteration's chains have kChain +
// iteration.
enum Detail : std::uint32_t { kFirstEnds = 2, kStep, kState, kChain };

States first_rows(const States& states, std::size_t count) {
  States rows(count, states.cols());
  std::copy_n(states.data(), rows.size(), rows.data());
  return rows;
}

std::size_t at(Direction direction) { return static_cast<std::size_t>(direction); }

}  // namespace

JudgedPairs::JudgedPairs(const Context& host, const ReferenceChain& chain, JudgedRows rows)
    : host_(host),
      process_(chain.process()),
      rows_(std::move(rows)),
      pinned_(pinned_rows(host, chain, rows_.seed)) {
  const std::size_t pairs = std::min({rows_.x0.rows(), rows_.x1.rows(), kMostPairs});
  rows_.x0 = first_rows(rows_.x0, pairs);
  rows_.x1 = first_rows(rows_.x1, pairs);
  points_ = std::clamp<std::size_t>(kMostPoints / std::max<std::size_t>(pairs, 1), 1,
                                    static_cast<std::size_t>(chain.num_steps()));
  pinned_.time_key = {rows_.seed, DrawPurpose::kHoldout, kStep};
  pinned_.state_key = {rows_.seed, DrawPurpose::kHoldout, kState};
}

void JudgedPairs::pair_first(const FirstPairsPlan& plan, Direction direction) {
  const DrawKey key{rows_.seed, DrawPurpose::kHoldout, kFirstEnds};
  set_pairs(direction,
            couple_first(host_, plan, process_, {rows_.x0, rows_.x1}, key, rows_.first_index));
}

void JudgedPairs::pair_through(const Context& context,
                               const backend::NetworkTensors<float>& sampler,
                               const backend::PinnedSteps& steps, int iteration,
                               Direction direction) {
  const bool forward = direction == Direction::kForward;
  const States& known = forward ? rows_.x1 : rows_.x0;
  States drawn(known.rows(), known.cols());
  const int num_steps = steps.chain.num_steps;
  const DrawKey key{derive_seed(rows_.seed, at(direction)), DrawPurpose::kHoldout,
                    kChain + static_cast<std::uint32_t>(iteration)};
  backend::NetworkWorkspace<float> workspace;
  backend::of(context).sample_network_chain(context, sampler, steps, num_steps, num_steps, known,
                                            key, rows_.first_index, drawn, workspace);
  set_pairs(direction, forward ? PairedStates{std::move(drawn), known}
                               : PairedStates{known, std::move(drawn)});
}

std::vector<double> JudgedPairs::losses(backend::NetworkTrainer& trainer,
                                        Direction direction) const {
  const backend::NetworkPoints& judged = judged_[at(direction)];
  std::vector<double> of_points(judged.steps_left.size()), of_pairs(count(), 0.0);
  trainer.average_losses(static_cast<int>(direction), judged.x, judged.clean, judged.steps_left,
                         of_points);
  for (std::size_t i = 0; i < of_points.size(); ++i) {
    of_pairs[i / points_] += of_points[i] / static_cast<double>(points_);
  }
  return of_pairs;
}

void JudgedPairs::save(SafetensorsWriter& writer, const std::string& prefix,
                       Direction direction) const {
  const auto add = [&](const char* end, const States& states) {
    writer.add(prefix + end, {states.rows(), states.cols()},
               std::span<const std::int32_t>(states.data(), states.size()));
  };
  add(".x0", pairs_[at(direction)].x0);
  add(".x1", pairs_[at(direction)].x1);
}

void JudgedPairs::load(const SafetensorsFile& file, const std::string& prefix,
                       Direction direction) {
  const std::size_t rows = count(), D = rows_.x0.cols();
  const auto read = [&](const char* end) {
    file.expect_shape(prefix + end, {rows, D});
    States states(rows, D, file.read_int32(prefix + end));
    check_states(file.path(), states, D, process_.num_categories());
    return states;
  };
  PairedStates pairs{read(".x0"), read(".x1")};
  set_pairs(direction, std::move(pairs));
}

void JudgedPairs::set_pairs(Direction direction, PairedStates pairs) {
  judged_[at(direction)] =
      backend::of(host_).draw_network_points(host_, pinned_, static_cast<int>(direction), pairs.x0,
                                             pairs.x1, points_, rows_.first_index * points_);
  pairs_[at(direction)] = std::move(pairs);
}

}  // namespace bridgemark
