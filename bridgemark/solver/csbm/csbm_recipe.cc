#include "bridgemark/solver/csbm/csbm_recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "bridgemark/math/normal.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/core/shared_options.h"
#include "bridgemark/solver/core/training_loop.h"

namespace bridgemark {

namespace {

// A rate that falls along a cosine gains most near its end: fewer looks stop before that.
constexpr char kPatience[] = "20";
// Where hidden and weight_decay are left to the solver.
constexpr std::size_t kUsualWidth = 128, kUsualLayers = 3;
constexpr double kUsualDecay = 0.01;

// Help on "auto": what is taken, and what is tried beside it on rows that end.
template <typename T, std::size_t N>
std::string auto_help(const std::string& taken, T usual, const T (&others)[N]) {
  return fmt::format("auto: {}; with recipe=tuned on data the best of {}, {} by the rows held out",
                     taken, usual, fmt::join(others, ", "));
}

}  // namespace

int CsbmRecipe::iteration(std::int64_t step) const {
  if (step <= last_update(1)) return 1;
  return 2 + static_cast<int>((step - last_update(1) - 1) / (passes() * updates_later));
}

Direction CsbmRecipe::direction(std::int64_t step) const {
  const int now = iteration(step);
  const std::int64_t length = now == 1 ? updates_first : updates_later;
  const std::int64_t before = now == 1 ? 0 : last_update(now - 1);
  return step - before <= length ? Direction::kForward : Direction::kBackward;
}

bool CsbmRecipe::on_first_pairs(std::int64_t count, double share) const {
  if (count <= updates_first) return true;
  const auto later = static_cast<double>(count - updates_first);
  return std::floor(later * share) > std::floor((later - 1.0) * share);
}

double CsbmRecipe::rate_at(std::int64_t count) const {
  if (schedule == Schedule::kConstant) return learning_rate;
  const std::int64_t all = updates_first + (imf_iterations - 1) * updates_later;
  double done = static_cast<double>(count - 1) / static_cast<double>(all);
  if (schedule == Schedule::kRestarts) {
    const bool first = count <= updates_first;
    const std::int64_t within = first ? count - 1 : (count - updates_first - 1) % updates_later;
    done = static_cast<double>(within) / static_cast<double>(first ? updates_first : updates_later);
  }
  return cosine_rate(learning_rate, done);
}

double CsbmRecipe::ema_at(std::int64_t count) const {
  const auto t = static_cast<double>(count);
  return std::min(ema, (1.0 + t) / (10.0 + t));
}

std::vector<OptionSpec> csbm_options(const CsbmVariant& variant) {
  OptionSpec weight_decay = weight_decay_option(kAuto);
  weight_decay.or_auto = true;
  weight_decay.help += "; " + auto_help(fmt::format("{}", kUsualDecay), kUsualDecay, kOtherDecays);
  OptionSpec updates_later =
      updates_option("updates_later", "1000", "20000", "updates of each network in each later one");
  updates_later.use = used_above("imf_iterations", 1);
  std::vector<OptionSpec> specs = {
      recipe_option(),
      num_steps_option(),
      loss_option(),
      {.key = "hidden",
       .kind = IntegerList{.most = 64, .low = 1, .high = 1 << 16},
       .default_value = kAuto,
       .help = "widths of the hidden layers; " +
               auto_help(fmt::format("{} layers of {}", kUsualLayers, kUsualWidth), kUsualWidth,
                         kOtherWidths),
       .or_auto = true},
      {.key = "input",
       .kind = Choices{{"numbers", "embedding"}},
       .default_value = "embedding",
       .paper = "numbers",
       .help = "how a category enters the network"},
      {.key = "embedding_size",
       .kind = IntegerRange{1, 1 << 10},
       .default_value = "8",
       .help = "width of the category embedding",
       .use = used_with("input", {"embedding"})},
      {.key = "last_step",
       .kind = Choices{{"softmax", "reference"}},
       .default_value = "reference",
       .paper = "softmax",
       .help =
           "what the last step of a chain is; softmax: of the network alone; reference: weighed "
           "by the network, as all others are"},
      {.key = "initial",
       // In the order of FirstCoupling.
       .kind = Choices{{"independent", "reference", "feature-wise", "minibatch-ot"}},
       .default_value = "minibatch-ot",
       .paper = "independent",
       .help = "coupling of the first pairs"},
      {.key = "initial_pairs",
       .kind = IntegerRange{1, 1 << 24},
       .default_value = "131072",
       .help = "first pairs that are made",
       .use = used_with("initial", {"reference", "feature-wise", "minibatch-ot"})},
      {.key = "initial_batch",
       .kind = IntegerRange{1, 1 << 14},
       .default_value = "512",
       .help = "rows that are matched together",
       .use = used_with("initial", {"minibatch-ot"})},
      {.key = "imf_iterations",
       .kind = IntegerRange{1, 1 << 20},
       .default_value = "5",
       .help = "D-IMF iterations"},
      updates_option("updates_first", "3000", "60000",
                     "updates of each network in the first iteration"),
      updates_later,
      {.key = "first_share",
       .kind = RealRange{0.0, 1.0},
       .default_value = kAuto,
       .paper = "0",
       .help =
           fmt::format("share of the updates of later iterations that train on first pairs, so "
                       "that the walks keep to both ends; auto: 0, and {} once an iteration has "
                       "lost them, which is undone (looked for from updates_first={} on, and not "
                       "where rows are held out)",
                       kShareOnDrift, kUpdatesBeforeDrift),
       .or_auto = true,
       .use = used_above("imf_iterations", 1)},
      batch_size_option(variant.batch_size, {}, "pairs for a network in an update"),
      {.key = "points",
       .kind = IntegerRange{1, 1 << 10},
       .default_value = "4",
       .paper = "1",
       .help = "steps and states of the pinned reference drawn for each pair"},
      learning_rate_option("0.001", variant.paper_rate),
      {.key = "schedule",
       // In the order of CsbmRecipe::Schedule.
       .kind = Choices{{"constant", "cosine", "restarts"}},
       .default_value = "restarts",
       .paper = "constant",
       .help = "of the learning rate; cosine: to 0 over the training; restarts: a cosine for each "
               "D-IMF iteration"},
      weight_decay,
      {.key = "ema",
       .kind = RealRange{0.0, 1.0},
       .default_value = "0.999",
       .help = "decay of the moving average that samples and is kept"},
  };
  append(specs, data_options());
  append(specs, writing_options());
  append(specs, stopping_options(kPatience));
  return specs;
}

CsbmRecipe read_csbm_recipe(const SolverOptions& options, const CsbmVariant& variant) {
  CsbmRecipe recipe{};
  const bool tuned = options.is("recipe", "tuned");
  recipe.both_directions = variant.both_directions;
  recipe.num_steps = options.integer("num_steps");
  recipe.loss = options.is("loss", "kl") ? backend::MatchingLoss::kKl : backend::MatchingLoss::kMse;
  recipe.hidden.assign(kUsualLayers, kUsualWidth);
  recipe.finds_hidden = tuned && options.is_auto("hidden");
  if (!options.is_auto("hidden")) {
    const std::vector<int> widths = options.integers("hidden");
    recipe.hidden.assign(widths.begin(), widths.end());
  }
  const auto width = static_cast<std::size_t>(options.integer("embedding_size"));
  recipe.category_width = options.is("input", "embedding") ? width : 0;
  recipe.reference_last_step = options.is("last_step", "reference");
  recipe.first_pairs.coupling = static_cast<FirstCoupling>(options.choice("initial"));
  recipe.first_pairs.pairs = static_cast<std::size_t>(options.integer("initial_pairs"));
  recipe.first_pairs.batch = static_cast<std::size_t>(options.integer("initial_batch"));
  recipe.imf_iterations = options.integer("imf_iterations");
  recipe.updates_first = options.integer("updates_first");
  recipe.updates_later = options.integer("updates_later");
  recipe.keeps_ends = options.is_auto("first_share") && recipe.imf_iterations > 1 &&
                      recipe.updates_first >= kUpdatesBeforeDrift;
  recipe.first_share = options.is_auto("first_share") ? 0.0 : options.real("first_share");
  recipe.batch_size = static_cast<std::size_t>(options.integer("batch_size"));
  recipe.points = static_cast<std::size_t>(options.integer("points"));
  recipe.learning_rate = options.real("learning_rate");
  recipe.schedule = static_cast<CsbmRecipe::Schedule>(options.choice("schedule"));
  const bool any_decay = options.is_auto("weight_decay");
  recipe.weight_decay = any_decay ? kUsualDecay : options.real("weight_decay");
  recipe.finds_weight_decay = tuned && any_decay;
  recipe.ema = options.real("ema");
  recipe.checkpoint_seconds = options.real("checkpoint_every");
  recipe.log_every = options.integer("log_every");
  recipe.validate_every = options.integer("validate_every");
  return recipe;
}

backend::NetworkShape network_shape(std::size_t dim, int num_categories, const CsbmRecipe& recipe) {
  backend::NetworkShape shape;
  shape.dim = dim;
  shape.num_categories = static_cast<std::size_t>(num_categories);
  shape.num_steps = recipe.num_steps;
  shape.hidden = recipe.hidden;
  shape.category_width = recipe.category_width;
  shape.reference_last_step = recipe.reference_last_step;
  return shape;
}

backend::NetworkTensors<float> initial_network(const backend::NetworkShape& shape,
                                               Direction direction, std::uint64_t seed) {
  backend::NetworkTensors<float> network(shape);
  const auto detail = static_cast<std::uint32_t>(direction);
  std::uint64_t part = 0;
  const auto draws = [&] { return DrawSequence({seed, DrawPurpose::kInitialise, detail}, part++); };
  for (std::size_t l = 0; l < shape.num_layers(); ++l) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(shape.layer_inputs(l)));
    DrawSequence sequence = draws();
    // Weights and bias of a layer lie together.
    float* value = network.weight(l);
    float* const end = network.bias(l) + shape.layer_outputs(l);
    while (value < end) *value++ = static_cast<float>(bound * (2.0 * sequence.uniform() - 1.0));
  }
  DrawSequence sequence = draws();
  for (std::size_t i = shape.step_offset(); i < shape.num_parameters(); ++i) {
    network.values[i] = static_cast<float>(draw_normal(sequence));
  }
  return network;
}

}  // namespace bridgemark
