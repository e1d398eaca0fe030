#include "bridgemark/solver/csbm/walk_ends.h"

#include <fmt/format.h>

#include <span>

#include "bridgemark/math/philox.h"
#include "bridgemark/metric/sample_scores.h"

namespace bridgemark {

namespace {

constexpr char kShapes[] = "walk_shapes";

}  // namespace

WalkEnds::WalkEnds(const Context& context, const Context& host, const TrainingData& data,
                   std::uint64_t seed, double drift)
    : context_(context),
      seed_(seed),
      drift_(drift),
      x0_(data.x0(host, kRows, 0)),
      x1_(data.x1(host, kRows, 0)) {}

void WalkEnds::look(int of_iteration, const Coupling& coupling) {
  const auto iteration = static_cast<std::uint32_t>(of_iteration);
  shapes_.push_back(shape(coupling, x0_, x1_, 2 * iteration));
  shapes_.push_back(shape(*coupling.reversed(), x1_, x0_, 2 * iteration + 1));
  note_drift();
}

void WalkEnds::note_drift() {
  if (drifted_after_ > 0 || shapes_.size() == 2) return;
  const std::size_t last = shapes_.size() - 2;
  for (std::size_t direction = 0; direction < 2; ++direction) {
    if (shapes_[last + direction] < shapes_[direction] - drift_) {
      drifted_after_ = static_cast<int>(last / 2) + 1;
    }
  }
}

double WalkEnds::shape(const Coupling& coupling, StatesView from, StatesView to,
                       std::uint32_t walk) const {
  States ends(from.rows, from.cols);
  coupling.sample(context_, from, {seed_, DrawPurpose::kPrediction, walk}, 0, ends);
  return score_samples(context_.on_host(), to, ends, coupling.num_categories()).shape;
}

std::string WalkEnds::shapes(std::size_t direction) const {
  std::string text;
  for (std::size_t i = direction; i < shapes_.size(); i += 2) {
    text += fmt::format("{}{:.4f}", text.empty() ? "" : ", ", shapes_[i]);
  }
  return text;
}

void WalkEnds::save(SafetensorsWriter& writer) const {
  writer.add(kShapes, {shapes_.size()}, std::span<const double>(shapes_));
}

void WalkEnds::load(const SafetensorsFile& file) {
  const std::vector<double> shapes = file.read_doubles(kShapes);
  shapes_.clear();
  drifted_after_ = 0;
  for (std::size_t i = 0; i + 1 < shapes.size(); i += 2) {
    shapes_.insert(shapes_.end(), {shapes[i], shapes[i + 1]});
    note_drift();
  }
}

}  // namespace bridgemark
