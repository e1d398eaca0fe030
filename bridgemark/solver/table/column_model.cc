#include "bridgemark/solver/table/column_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/reference_power.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/free_memory.h"
#include "bridgemark/math/normal.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/metric/held_out_objective.h"
#include "bridgemark/solver/core/shared_options.h"

namespace bridgemark {

namespace {

// Rows far beyond any that training draws.
constexpr std::uint64_t kInitialRows = std::uint64_t{1} << 62;
constexpr int kMostComponents = 1 << 16;
constexpr int kSizes[] = {8, 4, 2, 1};      // that components=auto tries
constexpr std::size_t kWithoutHoldout = 4;  // what it takes where no rows are held out

constexpr double kLowest = -1e300;    // of an objective: a checkpoint holds finite numbers
constexpr double kStartSpread = 0.1;  // of the noise in log_beta, so that equal components part

// A component starts where the reference leads in this part of its steps from a row of x1, beside
// as much weight spread evenly.
constexpr int kStartPart = 8;
constexpr double kStartPeak = 0.5;

// A problem that holds the rows; nobody looks at its reference, which has one S.
FitProblem rows_of(const ColumnReference& reference, const States& x0, const States& x1) {
  reference.check("x0", x0);
  reference.check("x1", x1);
  return {x0, x1,
          ReferenceProcess::uniform(static_cast<int>(reference.most_categories()), 0.1,
                                    reference.total_steps())};
}

std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<OptionSpec> column_options() {
  std::vector<OptionSpec> specs = {
      {.key = "components",
       .kind = IntegerRange{1, kMostComponents},
       .default_value = kAuto,
       .help = fmt::format("of the potential; auto: the best of {} by rows held out",
                           fmt::join(kSizes, ", ")),
       .or_auto = true},
      {.key = "updates",
       .kind = IntegerRange{1, 1 << 30},
       .default_value = "2000",
       .help = "at the most of each number of components, where rows held out stop the training",
       .counts_updates = true},
      batch_size_option("512", {}, "rows of x0 and of x1 in an update"),
      {.key = "learning_rate",
       .kind = RealRange{0.0, 100.0},
       .default_value = "0.02",
       .help = "of AdamW, betas 0.95 and 0.99; falls to 0 along a cosine"}};
  for (OptionSpec& spec : stopping_options("6")) {
    if (spec.key != "refit") specs.push_back(std::move(spec));
  }
  for (OptionSpec& spec : writing_options()) {
    if (spec.key != "validate_every") specs.push_back(std::move(spec));
  }
  return specs;
}

ColumnModel::ColumnModel(const Context& context, const ColumnReference& reference, const States& x0,
                         const States& x1, const SolverOptions& options, std::uint64_t seed)
    : context_(context),
      reference_(reference),
      loss_(reference),
      holdout_(split_holdout(rows_of(reference, x0, x1), options.real("holdout"))),
      seed_(seed),
      batch_size_(static_cast<std::size_t>(options.integer("batch_size"))),
      planned_(options.integer("updates")),
      learning_rate_(options.real("learning_rate")),
      patience_(options.integer("patience")) {
  if (!options.is_auto("components")) {
    sizes_ = {static_cast<std::size_t>(options.integer("components"))};
  } else if (is_held_out()) {
    sizes_.assign(std::begin(kSizes), std::end(kSizes));
  } else {
    sizes_ = {kWithoutHoldout};
  }
  begin(sizes_[0]);
}

void ColumnModel::begin(std::size_t components) {
  parameters_ = start(components);
  first_ = {std::vector<float>(parameters_.log_beta.size()),
            std::vector<float>(parameters_.log_cores.size())};
  second_ = first_;
  made_ = stale_ = 0;
  size_value_ = kLowest;
}

ColumnModel::Parameters ColumnModel::start(std::size_t K) const {
  // Five arrays of floats, and in an update five of doubles.
  require_memory(60.0 * static_cast<double>(reference_.total_categories()) * static_cast<double>(K),
                 fmt::format("a training with {} components on columns of {} categories in all", K,
                             reference_.total_categories()),
                 "components");
  Parameters parameters{std::vector<float>(K),
                        std::vector<float>(reference_.total_categories() * K)};
  const States rows = holdout_.training.sample_x1(context_, K, seed_, kInitialRows);
  const int steps = std::max(reference_.total_steps() / kStartPart, 1);
  for (std::size_t k = 0; k < K; ++k) {
    DrawSequence draws({seed_, DrawPurpose::kInitialise}, k);
    parameters.log_beta[k] = static_cast<float>(kStartSpread * draw_normal(draws));
  }
  std::vector<double> log_row(reference_.most_categories());
  for (std::size_t d = 0; d < reference_.dim(); ++d) {
    const backend::ReferencePower power = reference_.column(d).power(context_, steps);
    const std::size_t S = reference_.num_categories(d);
    for (std::size_t k = 0; k < K; ++k) {
      power.log_row(rows(k, d), log_row.data());
      for (std::size_t s = 0; s < S; ++s) {
        const double flat = (1.0 - kStartPeak) / static_cast<double>(S);
        parameters.log_cores[(reference_.start(d) + s) * K + k] =
            static_cast<float>(std::log(flat + kStartPeak * std::exp(log_row[s])));
      }
    }
  }
  return parameters;
}

void ColumnModel::updates(std::int64_t, std::span<double> losses) {
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::size_t K = parameters_.log_beta.size();
    const std::int64_t update = made_ + 1;
    const auto row = static_cast<std::uint64_t>(update - 1) * batch_size_;
    const States x0 = holdout_.training.sample_x0(context_, batch_size_, seed_, row),
                 x1 = holdout_.training.sample_x1(context_, batch_size_, seed_, row);
    ColumnLoss::Gradient gradient;
    losses[i] =
        loss_(context_, widened(parameters_.log_beta),
              {reference_.total_categories(), K, widened(parameters_.log_cores)}, x0, x1, gradient);
    AdamWSettings settings;
    settings.learning_rate =
        cosine_rate(learning_rate_, static_cast<double>(update - 1) / double(planned_));
    const auto apply = [&](const double* of, std::size_t count, auto Parameters::*part) {
      const std::vector<float> narrow(of, of + count);
      backend::of(context_).adamw_update(context_, settings, update, narrow, parameters_.*part,
                                         first_.*part, second_.*part);
    };
    apply(gradient.log_beta.data(), K, &Parameters::log_beta);
    apply(gradient.log_cores.data(), gradient.log_cores.size(), &Parameters::log_cores);
    made_ = update;
    if (is_held_out() && (made_ % kUpdatesPerLook == 0 || made_ == planned_)) look();
    if (made_ < planned_ && stale_ < patience_) continue;
    ++at_;
    if (!finished()) begin(sizes_[at_]);
  }
}

void ColumnModel::look() {
  const HeldOutObjective found =
      held_out_objective(context_, bridge_of(parameters_), holdout_.x0, holdout_.x1);
  ++stale_;
  if (!(found.value > size_value_)) return;
  stale_ = 0;
  size_value_ = found.value;
  if (best_update_ > 0 && !(found.value > best_value_)) return;
  best_ = parameters_;
  best_update_ = made_;
  best_value_ = found.value;
  best_error_ = std::isfinite(found.standard_error) ? found.standard_error : 0.0;
}

TrainingStage ColumnModel::stage(std::int64_t) const {
  TrainingStage stage;
  stage.name = fmt::format("{} components", parameters_.log_beta.size());
  stage.log = {{"components", parameters_.log_beta.size()}};
  if (best_update_ > 0) {
    stage.name += fmt::format(", held-out {:.3f} +- {:.3f}", best_value_, best_error_);
    stage.log["held_out"] = best_value_;
    stage.log["held_out_error"] = best_error_;
  }
  return stage;
}

ColumnBridge ColumnModel::bridge_of(const Parameters& parameters) const {
  const std::size_t K = parameters.log_beta.size();
  return {reference_,
          widened(parameters.log_beta),
          {reference_.total_categories(), K, widened(parameters.log_cores)}};
}

ColumnBridge ColumnModel::bridge() const {
  return bridge_of(best_update_ > 0 ? best_ : parameters_);
}

Diagnostics ColumnModel::diagnostics() const {
  const Parameters& kept = best_update_ > 0 ? best_ : parameters_;
  Diagnostics found = {
      {"components", static_cast<std::int64_t>(kept.log_beta.size())},
      {"total_categories", static_cast<std::int64_t>(reference_.total_categories())}};
  if (best_update_ > 0) {
    found["held_out"] = best_value_;
    found["held_out_error"] = best_error_;
    found["updates"] = found["held_out_update"] = best_update_;
    found["held_out_rows"] = static_cast<std::int64_t>(holdout_.x1.rows());
  }
  return found;
}

void ColumnModel::save_state(SafetensorsWriter& writer) const {
  position_ = {static_cast<double>(made_),
               static_cast<double>(best_update_),
               static_cast<double>(stale_),
               static_cast<double>(at_),
               size_value_,
               best_value_,
               best_error_};
  writer.add("position", {position_.size()}, std::span<const double>(position_));
  const auto add = [&](const std::string& name, const Parameters& part) {
    writer.add(name + "log_beta", {part.log_beta.size()}, std::span(part.log_beta));
    writer.add(name + "log_cores", {part.log_cores.size()}, std::span(part.log_cores));
  };
  add("", parameters_);
  add("first_", first_);
  add("second_", second_);
  if (best_update_ > 0) add("best_", best_);
}

void ColumnModel::load_state(const SafetensorsFile& file) {
  file.expect_shape("position", {7});
  const std::vector<double> position = file.read_doubles("position");
  for (std::size_t i = 0; i < 4; ++i) {
    if (position[i] >= 0.0 && position[i] < 1e15 && position[i] == std::floor(position[i]))
      continue;
    throw_file(file.path(), "tensor 'position' must hold whole numbers, got {}", position[i]);
  }
  made_ = static_cast<std::int64_t>(position[0]);
  best_update_ = static_cast<std::int64_t>(position[1]);
  stale_ = static_cast<int>(std::min(position[2], 1e9));
  at_ = static_cast<std::size_t>(std::min(position[3], static_cast<double>(sizes_.size())));
  size_value_ = position[4];
  best_value_ = position[5];
  best_error_ = position[6];
  const auto read = [&](const std::string& name, Parameters& part) {
    const std::vector<std::size_t>& shape = file.shape(name + "log_beta");
    if (shape.size() != 1 || shape[0] > static_cast<std::size_t>(kMostComponents)) {
      throw_file(file.path(), "tensor '{}log_beta' must have one axis of at most {}", name,
                 kMostComponents);
    }
    file.expect_shape(name + "log_cores", {reference_.total_categories() * shape[0]});
    part.log_beta = file.read_floats(name + "log_beta");
    part.log_cores = file.read_floats(name + "log_cores");
  };
  read("", parameters_);
  read("first_", first_);
  read("second_", second_);
  if (best_update_ > 0) read("best_", best_);
  const std::size_t K = parameters_.log_beta.size();
  if (K == 0 || first_.log_beta.size() != K || second_.log_beta.size() != K) {
    throw_file(file.path(), "its parameters and moments must have as many components");
  }
}

}  // namespace bridgemark
