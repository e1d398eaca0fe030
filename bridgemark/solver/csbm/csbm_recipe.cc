#include "bridgemark/solver/csbm/csbm_recipe.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string_view>

#include "bridgemark/core/error.h"
#include "bridgemark/math/normal.h"
#include "bridgemark/solver/core/holdout.h"
#include "bridgemark/solver/core/training_loop.h"

namespace bridgemark {

namespace {

constexpr std::string_view kLosses[] = {"kl", "mse"};
constexpr std::string_view kInputs[] = {"numbers", "embedding"};
constexpr std::string_view kLastSteps[] = {"softmax", "reference"};
constexpr std::string_view kCsbmSchedules[] = {"constant", "cosine", "restarts"};
// A rate that falls along a cosine gains most near its end: fewer looks stop before that.
constexpr int kPatience = 20;
// In the order of FirstCoupling.
constexpr std::string_view kStarts[] = {"independent", "reference", "feature-wise", "minibatch-ot"};

std::vector<std::size_t> parse_widths(const std::string& text) {
  constexpr std::size_t kMaxWidth = 1 << 16, kMaxLayers = 64;
  std::vector<std::size_t> widths;
  const char* next = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    std::size_t width = 0;
    const auto [stop, error] = std::from_chars(next, end, width);
    const bool last = stop == end;
    if (error != std::errc() || width < 1 || width > kMaxWidth || widths.size() == kMaxLayers ||
        (!last && *stop != ',')) {
      throw_invalid("options", "hidden must be 1 to {} whole numbers in [1, {}] or auto, got '{}'",
                    kMaxLayers, kMaxWidth, text);
    }
    widths.push_back(width);
    if (last) return widths;
    next = stop + 1;
  }
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
  const std::string rate = variant.paper_rate;
  std::vector<OptionSpec> specs = {
      {"recipe", "tuned", "tuned or paper; decides what is left empty below"},
      {"num_steps", "64", "steps of the chain"},
      {"loss", "kl", "kl or mse"},
      {"hidden", "auto",
       "widths of the hidden layers, or auto: 128,128,128; with recipe=tuned on data the best of "
       "128, 64 and 256 by the rows held out"},
      {"input", "",
       "how a category enters the network: numbers or embedding (tuned embedding, paper numbers)"},
      {"embedding_size", "8", "width of the category embedding, with input=embedding"},
      {"last_step", "",
       "what the last step of a chain is: softmax of the network alone, or reference, weighed by "
       "the network as in all others (tuned reference, paper softmax)"},
      {"initial", "",
       "coupling of the first pairs: independent, reference, feature-wise, or minibatch-ot (tuned "
       "minibatch-ot, paper independent)"},
      {"initial_pairs", "131072", "first pairs that are made, unless they are independent"},
      {"initial_batch", "512", "rows that initial=minibatch-ot matches together"},
      {"imf_iterations", "5", "D-IMF iterations"},
      {"updates_first", "",
       "updates of each network in the first iteration (tuned 3000, paper 60000)", true},
      {"updates_later", "", "updates of each network in each later one (tuned 1000, paper 20000)",
       true},
      {"batch_size", variant.batch_size, "pairs for a network in an update"},
      {"points", "",
       "steps and states of the pinned reference drawn for each pair (tuned 4, paper 1)"},
      {"learning_rate", "", "of AdamW, betas 0.95 and 0.99 (tuned 0.001, paper " + rate + ")"},
      {"schedule", "",
       "of the learning rate: constant; cosine to 0 over the training; restarts, a cosine for each "
       "D-IMF iteration (tuned restarts, paper constant)"},
      {"weight_decay", "auto",
       "of AdamW, or auto: 0.01; with recipe=tuned on data the best of 0.01, 1 and 3 by the rows "
       "held out"},
      {"ema", "0.999", "decay of the moving average that samples and is kept"},
      {"x0_data", "", "integer .npy [n,D] to train on instead of draws of p0"},
      {"x1_data", "", "integer .npy [n,D] to train on instead of draws of p1"},
      {"checkpoint_every", "30", "seconds between checkpoints"},
      {"log_every", "100", "updates between lines of the log"},
  };
  std::ranges::copy(stopping_options(kPatience), std::back_inserter(specs));
  return specs;
}

void resolve_csbm_recipe(SolverOptions& options, const CsbmVariant& variant) {
  const bool tuned = options.choice("recipe", kRecipes) == 0;
  options.set_default("input", tuned ? "embedding" : "numbers");
  options.set_default("last_step", tuned ? "reference" : "softmax");
  options.set_default("initial", tuned ? "minibatch-ot" : "independent");
  options.set_default("updates_first", tuned ? "3000" : "60000");
  options.set_default("updates_later", tuned ? "1000" : "20000");
  options.set_default("points", tuned ? "4" : "1");
  options.set_default("learning_rate", tuned ? "0.001" : variant.paper_rate);
  options.set_default("schedule", tuned ? "restarts" : "constant");
}

CsbmRecipe read_csbm_recipe(const SolverOptions& options, const CsbmVariant& variant) {
  CsbmRecipe recipe{};
  recipe.both_directions = variant.both_directions;
  recipe.num_steps = options.integer("num_steps", 1, 1 << 20);
  recipe.loss = options.choice("loss", kLosses) == 0 ? backend::MatchingLoss::kKl
                                                     : backend::MatchingLoss::kMse;
  const bool tuned = options.choice("recipe", kRecipes) == 0;
  const bool any_width = options.text("hidden") == kAuto;
  recipe.hidden = parse_widths(any_width ? "128,128,128" : options.text("hidden"));
  recipe.finds_hidden = tuned && any_width;
  const auto width = static_cast<std::size_t>(options.integer("embedding_size", 1, 1 << 10));
  recipe.category_width = options.choice("input", kInputs) == 0 ? 0 : width;
  recipe.reference_last_step = options.choice("last_step", kLastSteps) == 1;
  recipe.first_pairs.coupling = static_cast<FirstCoupling>(options.choice("initial", kStarts));
  recipe.first_pairs.pairs = static_cast<std::size_t>(options.integer("initial_pairs", 1, 1 << 24));
  recipe.first_pairs.batch = static_cast<std::size_t>(options.integer("initial_batch", 1, 1 << 14));
  recipe.imf_iterations = options.integer("imf_iterations", 1, 1 << 20);
  recipe.updates_first = options.integer("updates_first", 1, 1 << 30);
  recipe.updates_later = options.integer("updates_later", 1, 1 << 30);
  recipe.batch_size = static_cast<std::size_t>(options.integer("batch_size", 1, 1 << 20));
  recipe.points = static_cast<std::size_t>(options.integer("points", 1, 1 << 10));
  recipe.learning_rate = options.real("learning_rate", 0.0, 100.0);
  recipe.schedule = static_cast<CsbmRecipe::Schedule>(options.choice("schedule", kCsbmSchedules));
  const bool any_decay = options.text("weight_decay") == kAuto;
  recipe.weight_decay = any_decay ? 0.01 : options.real("weight_decay", 0.0, 100.0, " or auto");
  recipe.finds_weight_decay = tuned && any_decay;
  recipe.ema = options.real("ema", 0.0, 1.0);
  recipe.checkpoint_seconds = options.real("checkpoint_every", 0.0, 1e9);
  recipe.log_every = options.integer("log_every", 1, 1 << 30);
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
