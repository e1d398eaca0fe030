#include "bridgemark/solver/cp/cp_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "bridgemark/backend/ranks/component_share.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/normal.h"
#include "bridgemark/solver/core/shared_options.h"
#include "bridgemark/solver/cp/held_out_model.h"
#include "bridgemark/solver/direction/direction_choice.h"
#include "bridgemark/solver/direction/source_density.h"

namespace bridgemark {

namespace {

enum Init { kP1, kP0, kGaussian, kUniform };  // in the order of the choices

// A component's noise adds up over the dimensions.
constexpr std::size_t kFewDimensions = 16;
constexpr double kNoiseOfFew = 0.3, kNoiseOfMany = 0.1;

// A Gaussian start is nothing but its noise.
std::string noise_for_init(const SolverOptions& options) {
  return options.is("init", "gaussian") ? "1" : "0";
}

// An update moves a log-core by about the rate at most, and some have tens to go: few updates need
// long steps. What they leave of noise the average takes away (results/dlightsb).
constexpr double kWay = 120.0, kHighestRate = 0.12;

constexpr double kLowestRate = 0.01;

constexpr int kEndlessComponents = 1000;

double rate_of_way(double way, double highest, double updates) {
  return std::clamp(way / updates, kLowestRate, highest);
}

}  // namespace

OptionDefault rate_for_updates(double way, double highest) {
  return {fmt::format("{} / updates, within {} and {}", way, kLowestRate, highest),
          [=](const SolverOptions& options) {
            return fmt::format("{:.4g}", rate_of_way(way, highest, options.integer("updates")));
          }};
}

double tuned_rate(std::int64_t updates) {
  return rate_of_way(kWay, kHighestRate, static_cast<double>(updates));
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
  const OptionDefault noise("0, or 1 with init=gaussian", noise_for_init);
  std::vector<OptionSpec> specs = {
      recipe_option(),
      updates_option("updates", "2000", "100000", "gradient updates"),
      batch_size_option("2048", "128", "rows of x0 and of x1 in an update"),
      learning_rate_option(rate_for_updates(kWay, kHighestRate), "0.01"),
      {.key = "schedule",
       .kind = Choices{{"cosine", "constant"}},
       .default_value = "cosine",
       .paper = "constant",
       .help = "of the learning rate; cosine: to 0 over the training"},
      weight_decay_option("0", "0.01"),
      {.key = "average",
       .kind = RealRange{0.0, 1.0},
       .default_value = "0.5",
       .paper = "0",
       .help = "share of the updates, the last ones, whose parameters are averaged"},
      {.key = "entropy",
       .kind = RealRange{0.0, 1e6},
       .default_value = "0",
       .help = "weight of the entropy of the component weights, to keep them in use"},
      components_option("components", 1 << 24, kEndlessComponents, "K"),
      {.key = "init",
       .kind = Choices{{"p1", "p0", "gaussian", "uniform"}},
       .default_value = "p1",
       .paper = "p0",
       .help = "what the cores start on: samples of p1 or p0, or noise"},
      {.key = "init_peak",
       .kind = RealRange{1e-6, 1.0 - 1e-6},
       .default_value = "0.05",
       .paper = "0.9",
       .help = "starting probability of a sample's category",
       .use = used_with("init", {"p1", "p0"})},
      {.key = "init_noise",
       .kind = RealRange{0.0, 100.0},
       .default_value = noise,
       .help = fmt::format("standard deviation of noise on the log-cores; auto: {} up to {} "
                           "dimensions, {} beyond",
                           kNoiseOfFew, kFewDimensions, kNoiseOfMany),
       .or_auto = true},
      source_option(),
      direction_option(),
  };
  append(specs, data_options());
  append(specs, writing_options());
  append(specs, held_out_options());
  return specs;
}

CpRecipe read_cp_recipe(const SolverOptions& options) {
  CpRecipe recipe = read_training_recipe(options);
  recipe.entropy = options.real("entropy");
  read_components(options, "components", kEndlessComponents, recipe);
  return recipe;
}

OptionSpec components_option(std::string key, int most, int endless, const std::string& what) {
  return {.key = std::move(key),
          .kind = IntegerRange{1, most},
          .default_value = kAuto,
          .help = fmt::format("{}; auto: {} on endless draws, found by rows held out on data", what,
                              endless),
          .or_auto = true};
}

void read_components(const SolverOptions& options, std::string_view key, int endless,
                     CpRecipe& recipe) {
  recipe.finds_components = options.is_auto(key);
  recipe.components =
      static_cast<std::size_t>(recipe.finds_components ? endless : options.integer(key));
}

CpRecipe read_training_recipe(const SolverOptions& options) {
  CpRecipe recipe{};
  recipe.updates = options.integer("updates");
  recipe.batch_size = static_cast<std::size_t>(options.integer("batch_size"));
  recipe.learning_rate = options.real("learning_rate");
  recipe.cosine = options.is("schedule", "cosine");
  recipe.weight_decay = options.real("weight_decay");
  recipe.average = options.real("average");
  recipe.init = static_cast<int>(options.choice("init"));
  recipe.init_peak = options.real("init_peak");
  if (!options.is_auto("init_noise")) recipe.init_noise = options.real("init_noise");
  if (recipe.init == kGaussian && recipe.init_noise == 0.0) {
    throw_invalid("options",
                  "init_noise must be above 0 with init=gaussian, whose components would start "
                  "equal, got {}",
                  options.text("init_noise"));
  }
  recipe.checkpoint_seconds = options.real("checkpoint_every");
  recipe.log_every = options.integer("log_every");
  recipe.validate_every = options.integer("validate_every");
  return recipe;
}

backend::CpTensors<float> initial_cp_parameters(const Context& context, const CpRecipe& recipe,
                                                const TrainingData& data, std::size_t dim,
                                                int num_categories, std::uint64_t seed) {
  constexpr double kBetaMean = -2.0, kBetaSpread = 0.1;
  const double automatic = dim <= kFewDimensions ? kNoiseOfFew : kNoiseOfMany;
  const double noise = recipe.init_noise.value_or(automatic);
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
