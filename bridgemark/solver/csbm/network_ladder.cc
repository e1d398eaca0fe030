#include "bridgemark/solver/csbm/network_ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/solver/csbm/csbm_model.h"

namespace bridgemark {

namespace {

constexpr double kMostUpdates = 1e15;
constexpr std::size_t kTriedNumbers = 4, kBestNumbers = 5;

bool is_clearly_lower(const std::vector<double>& one, const std::vector<double>& other) {
  std::vector<double> gain(one.size());
  for (std::size_t i = 0; i < gain.size(); ++i) gain[i] = other[i] - one[i];
  const MeanEstimate mean = estimate_mean(gain);
  return mean.mean > mean.standard_error;
}

std::vector<double> read_losses(const SafetensorsFile& file, const char* name, std::size_t pairs) {
  file.expect_shape(name, {pairs});
  return file.read_doubles(name);
}

}  // namespace

NetworkLadder::NetworkLadder(const CsbmRecipe& recipe)
    : hidden_(recipe.hidden), decays_{recipe.weight_decay} {  // the recipe's own come first
  if (recipe.finds_weight_decay) std::ranges::copy(kOtherDecays, std::back_inserter(decays_));
  if (recipe.finds_hidden) std::ranges::copy(kOtherWidths, std::back_inserter(widths_));
}

NetworkChoice NetworkLadder::next() const {
  const std::size_t i = tried_.size();
  if (i < decays_.size()) return {hidden_, decays_[i]};
  return {std::vector(hidden_.size(), widths_[i - decays_.size()]), best_.choice.weight_decay};
}

bool NetworkLadder::add(NetworkCandidate candidate) {
  const MeanEstimate mean = estimate_mean(candidate.losses);
  const bool better = tried_.empty() || is_clearly_lower(candidate.losses, best_.losses);
  tried_.push_back({static_cast<double>(candidate.choice.hidden[0]), candidate.choice.weight_decay,
                    mean.mean, candidate.losses.size() > 1 ? mean.standard_error : 0.0});
  if (better) best_ = std::move(candidate);
  return better;
}

std::string NetworkLadder::text() const {
  std::string all;
  for (const Tried& tried : tried_) {
    all += fmt::format("{}width {:g}, weight decay {:g}: {:.4f} +- {:.4f}", all.empty() ? "" : "; ",
                       tried.width, tried.weight_decay, tried.value, tried.error);
  }
  return all;
}

void NetworkLadder::save(SafetensorsWriter& writer) const {
  if (!is_search()) return;
  tried_table_.clear();
  for (const Tried& tried : tried_) {
    tried_table_.insert(tried_table_.end(),
                        {tried.width, tried.weight_decay, tried.value, tried.error});
  }
  writer.add("ladder.tried", {tried_table_.size()}, std::span<const double>(tried_table_));
  if (tried_.empty() || done()) return;
  best_table_ = {static_cast<double>(best_.choice.hidden[0]), best_.choice.weight_decay,
                 static_cast<double>(best_.made), static_cast<double>(best_.counts[0]),
                 static_cast<double>(best_.counts[1])};
  for (const NetworkStage& stage : best_.stages) append_stage(stage, best_table_);
  writer.add("ladder.best", {best_table_.size()}, std::span<const double>(best_table_));
  writer.add("ladder.best_losses", {best_.losses.size()}, std::span<const double>(best_.losses));
  add_networks(writer, "ladder.", best_.state);
}

void NetworkLadder::load(const SafetensorsFile& file, const CsbmRecipe& recipe, std::size_t dim,
                         int num_categories, std::size_t pairs) {
  if (!is_search()) return;
  const std::vector<double> table = file.read_doubles("ladder.tried");
  if (table.size() % kTriedNumbers != 0 || table.size() / kTriedNumbers > size()) {
    throw_file(file.path(), "tensor 'ladder.tried' has {} entries, expected {} for each of {}",
               table.size(), kTriedNumbers, size());
  }
  tried_.clear();
  for (std::size_t i = 0; i < table.size(); i += kTriedNumbers) {
    tried_.push_back({table[i], table[i + 1], table[i + 2], table[i + 3]});
  }
  if (tried_.empty() || done()) return;
  const auto passes = static_cast<std::size_t>(recipe.passes());
  file.expect_shape("ladder.best", {kBestNumbers + passes * kStageNumbers});
  const std::vector<double> best = file.read_doubles("ladder.best");
  const auto width = static_cast<std::size_t>(read_whole(file, best[0], 1 << 16));
  best_.choice = {width == hidden_[0] ? hidden_ : std::vector(hidden_.size(), width), best[1]};
  best_.made = read_whole(file, best[2], kMostUpdates);
  for (std::size_t i = 0; i < 2; ++i) best_.counts[i] = read_whole(file, best[3 + i], kMostUpdates);
  best_.stages.clear();
  for (std::size_t i = 0; i < passes; ++i) {
    best_.stages.push_back(read_stage(
        file, recipe, std::span(best).subspan(kBestNumbers + i * kStageNumbers, kStageNumbers), i));
  }
  best_.losses = read_losses(file, "ladder.best_losses", pairs);
  CsbmRecipe chosen = recipe;
  chosen.hidden = best_.choice.hidden;
  const backend::NetworkTensors<float> zeros(network_shape(dim, num_categories, chosen));
  best_.state = {backend::start_training(zeros), backend::start_training(zeros)};
  read_networks(file, "ladder.", best_.state);
}

CsbmRecipe NetworkLadder::largest(CsbmRecipe recipe) {
  if (recipe.finds_hidden) {
    recipe.hidden.assign(recipe.hidden.size(), *std::ranges::max_element(kOtherWidths));
  }
  return recipe;
}

}  // namespace bridgemark
