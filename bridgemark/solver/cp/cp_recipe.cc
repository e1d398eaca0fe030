#include "bridgemark/solver/cp/cp_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

#include "bridgemark/backend/ranks/component_share.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/normal.h"
#include "bridgemark/solver/cp/held_out_model.h"

namespace bridgemark {

namespace {

constexpr std::string_view kSchedules[] = {"cosine", "constant"};
enum Init { kP1, kP0, kGaussian, kUniform };
constexpr std::string_view kInits[] = {"p1", "p0", "gaussian", "uniform"};

// A component's noise adds up over the dimensions.
double automatic_noise(std::size_t dim) { return dim <= 16 ? 0.3 : 0.1; }

// An update moves a log-core by about the rate at most, and some have tens to go: few updates need
// long steps. What they leave of noise the average takes away (results/dlightsb).
constexpr double kWay = 120.0, kHighestRate = 0.12;

}  // namespace

std::string rate_for_updates(const SolverOptions& options, double way, double highest) {
  constexpr double kLowest = 0.01;
  return fmt::format("{:.4g}",
                     std::clamp(way / options.integer("updates", 1, 1 << 30), kLowest, highest));
}

std::vector<backend::CpUpdate> CpRecipe::updates_from(std::int64_t first, std::size_t count) const {
  // The last update and every eighth before it: parameters of neighbours are nearly the same.
  constexpr std::int64_t kEvery = 8;
  const auto all = static_cast<double>(updates);
  const auto averaged = static_cast<std::int64_t>(std::ceil(average * all));
  std::vector<backend::CpUpdate> list(count, {learning_rate, 0.0});
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t done = first - 1 + static_cast<std::int64_t>(i), left = updates - 1 - done;
    if (cosine) list[i].learning_rate = cosine_rate(learning_rate, static_cast<double>(done) / all);
    if (left < averaged && left % kEvery == 0) {
      const std::int64_t count_with_this = (averaged - 1) / kEvery - left / kEvery + 1;
      list[i].average_share = 1.0 / static_cast<double>(count_with_this);
    }
  }
  return list;
}

std::vector<OptionSpec> cp_options() {
  std::vector<OptionSpec> specs = {
      {"recipe", "tuned", "tuned or paper; decides what is left empty below"},
      {"updates", "", "gradient updates (tuned 2000, paper 100000)", true},
      {"batch_size", "", "rows of x0 and of x1 in an update (tuned 2048, paper 128)"},
      {"learning_rate", "",
       "of AdamW, betas 0.95 and 0.99 (tuned 120 / updates, within 0.01 and 0.12; paper 0.01)"},
      {"schedule", "", "cosine to 0, or constant (tuned cosine, paper constant)"},
      {"weight_decay", "", "of AdamW (tuned 0, paper 0.01)"},
      {"average", "",
       "share of the updates, the last ones, whose parameters are averaged (tuned 0.5, paper 0)"},
      {"entropy", "0", "weight of the entropy of the component weights, to keep them in use"},
      {"components", "auto", "K, or auto: 1000 on endless draws, found by rows held out on data"},
      {"init", "", "samples the cores start on: p1, p0; or gaussian, uniform (tuned p1, paper p0)"},
      {"init_peak", "", "starting probability of a sample's category (tuned 0.05, paper 0.9)"},
      {"init_noise", "",
       "standard deviation of noise on the log-cores, or auto (0; 1 with init=gaussian)"},
      {"x0_data", "", "integer .npy [n,D] to train on instead of draws of p0"},
      {"x1_data", "", "integer .npy [n,D] to train on instead of draws of p1"},
      {"checkpoint_every", "30", "seconds between checkpoints"},
      {"log_every", "100", "updates between lines of the log"},
  };
  std::ranges::copy(held_out_options(), std::back_inserter(specs));
  return specs;
}

void resolve_cp_recipe(SolverOptions& options) {
  const bool tuned = options.choice("recipe", kRecipes) == 0;
  options.set_default("updates", tuned ? "2000" : "100000");
  options.set_default("batch_size", tuned ? "2048" : "128");
  options.set_default("schedule", tuned ? "cosine" : "constant");
  options.set_default("weight_decay", tuned ? "0" : "0.01");
  options.set_default("learning_rate",
                      tuned ? rate_for_updates(options, kWay, kHighestRate) : "0.01");
  options.set_default("average", tuned ? "0.5" : "0");
  options.set_default("init", tuned ? "p1" : "p0");
  options.set_default("init_peak", tuned ? "0.05" : "0.9");
  // A Gaussian start is nothing but its noise.
  options.set_default("init_noise", options.text("init") == kInits[kGaussian] ? "1" : "0");
}

CpRecipe read_cp_recipe(const SolverOptions& options) {
  CpRecipe recipe = read_training_recipe(options);
  recipe.entropy = options.real("entropy", 0.0, 1e6);
  read_components(options, "components", 1000, 1 << 24, recipe);
  return recipe;
}

void read_components(const SolverOptions& options, std::string_view key, int endless, int most,
                     CpRecipe& recipe) {
  recipe.finds_components = options.text(key) == "auto";
  recipe.components = static_cast<std::size_t>(
      recipe.finds_components ? endless : options.integer(key, 1, most, " or auto"));
}

CpRecipe read_training_recipe(const SolverOptions& options) {
  CpRecipe recipe{};
  recipe.updates = options.integer("updates", 1, 1 << 30);
  recipe.batch_size = static_cast<std::size_t>(options.integer("batch_size", 1, 1 << 20));
  recipe.learning_rate = options.real("learning_rate", 0.0, 100.0);
  recipe.cosine = options.choice("schedule", kSchedules) == 0;
  recipe.weight_decay = options.real("weight_decay", 0.0, 100.0);
  recipe.average = options.real("average", 0.0, 1.0);
  recipe.init = static_cast<int>(options.choice("init", kInits));
  recipe.init_peak = options.real("init_peak", 1e-6, 1.0 - 1e-6);
  if (options.text("init_noise") != "auto") {
    recipe.init_noise = options.real("init_noise", 0.0, 100.0, " or auto");
  }
  if (recipe.init == kGaussian && recipe.init_noise == 0.0) {
    throw_invalid("options",
                  "init_noise must be above 0 with init=gaussian, whose components would start "
                  "equal, got {}",
                  options.text("init_noise"));
  }
  recipe.checkpoint_seconds = options.real("checkpoint_every", 0.0, 1e9);
  recipe.log_every = options.integer("log_every", 1, 1 << 30);
  return recipe;
}

backend::CpTensors<float> initial_cp_parameters(const Context& context, const CpRecipe& recipe,
                                                const TrainingData& data, std::size_t dim,
                                                int num_categories, std::uint64_t seed) {
  constexpr double kBetaMean = -2.0, kBetaSpread = 0.1;
  const double noise = recipe.init_noise.value_or(automatic_noise(dim));
  const auto S = static_cast<std::size_t>(num_categories);
  const backend::ComponentShare share = backend::component_share(context, recipe.components);
  const std::size_t K = share.count;
  backend::CpTensors<float> parameters(dim, S, K);
  // Rows far beyond any that training draws.
  constexpr std::uint64_t kInitialRows = std::uint64_t{1} << 62;
  const std::uint64_t rows = kInitialRows + share.first;
  const States samples = recipe.init == kP0 ? data.x0(context, K, rows) : data.x1(context, K, rows);
  const double log_peak = std::log(recipe.init_peak);
  const double log_rest = std::log((1.0 - recipe.init_peak) / static_cast<double>(S - 1));
  const double log_flat = -std::log(static_cast<double>(S));
  const auto start_component = [&](std::size_t k) {
    DrawSequence draws({seed, DrawPurpose::kInitialise}, share.first + k);
    parameters.log_beta[k] = static_cast<float>(kBetaMean + kBetaSpread * draw_normal(draws));
    for (std::size_t d = 0; d < dim; ++d) {
      for (std::size_t s = 0; s < S; ++s) {
        double value = log_flat;
        if (recipe.init == kUniform) {
          value = std::log1p(-draws.uniform());
        } else if (recipe.init != kGaussian) {
          value = samples(k, d) == static_cast<std::int32_t>(s) ? log_peak : log_rest;
        }
        if (noise > 0.0) value += noise * draw_normal(draws);
        parameters.log_cores[(d * S + s) * K + k] = static_cast<float>(value);
      }
    }
  };
  // A cache line of the innermost components: no two threads write the same.
  constexpr std::size_t kComponents = 16;
  parallel_blocks(context, K, kComponents, [&](std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) start_component(k);
  });
  return parameters;
}

}  // namespace bridgemark
