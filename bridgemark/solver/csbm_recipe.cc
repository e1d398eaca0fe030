#include "bridgemark/solver/csbm_recipe.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "bridgemark/core/error.h"
#include "bridgemark/math/normal.h"

namespace bridgemark {

namespace {

constexpr std::string_view kLosses[] = {"kl", "mse"};
constexpr std::string_view kInputs[] = {"numbers", "embedding"};
constexpr std::string_view kStarts[] = {"independent", "minibatch-ot"};
constexpr std::string_view kOrders[] = {"turns", "halves"};

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
      throw_invalid("options",
                    "hidden must be 1 to {} whole numbers in [1, {}] with commas between, got '{}'",
                    kMaxLayers, kMaxWidth, text);
    }
    widths.push_back(width);
    if (last) return widths;
    next = stop + 1;
  }
}

}  // namespace

int CsbmRecipe::iteration(std::int64_t step) const {
  if (step <= updates_first) return 1;
  return 2 + static_cast<int>((step - updates_first - 1) / updates_later);
}

Direction CsbmRecipe::direction(std::int64_t step) const {
  if (!halves) return step % 2 == 1 ? Direction::kBackward : Direction::kForward;
  const bool first = step <= updates_first;
  const std::int64_t length = first ? updates_first : updates_later;
  const std::int64_t within = first ? step - 1 : (step - updates_first - 1) % updates_later;
  return within < length / 2 ? Direction::kBackward : Direction::kForward;
}

double CsbmRecipe::ema_at(std::int64_t count) const {
  const auto t = static_cast<double>(count);
  return std::min(ema, (1.0 + t) / (10.0 + t));
}

std::vector<OptionSpec> csbm_options(const CsbmVariant& variant) {
  std::vector<OptionSpec> specs = {
      {"num_steps", "64", "steps of the chain"},
      {"loss", "kl", "kl or mse"},
      {"hidden", "128,128,128", "widths of the hidden layers"},
      {"input", "numbers", "how a category enters the network: numbers or embedding"},
      {"embedding_size", "8", "width of the category embedding, with input=embedding"},
      {"initial", "independent", "first pairs: independent, or minibatch-ot within a batch"},
      {"imf_iterations", "5", "D-IMF iterations"},
      {"updates_first", "120000", "gradient updates of the first iteration"},
      {"updates_later", "40000", "gradient updates of each later iteration"},
      {"batch_size", variant.batch_size, "pairs for a network in an update"},
      {"points", "1", "steps and states of the pinned reference drawn for each pair"},
      {"learning_rate", variant.learning_rate, "of AdamW, betas 0.95 and 0.99"},
      {"weight_decay", "0.01", "of AdamW"},
      {"ema", "0.999", "decay of the moving average that samples and is kept"},
      {"x0_data", "", "integer .npy [n,D] to train on instead of draws of p0"},
      {"x1_data", "", "integer .npy [n,D] to train on instead of draws of p1"},
      {"checkpoint_every", "30", "seconds between checkpoints"},
      {"log_every", "100", "updates between lines of the log"},
  };
  if (!variant.both_directions) {
    specs.push_back({"order", "turns",
                     "which direction an update trains: turns, or halves (an iteration trains "
                     "backward, then forward)"});
  }
  return specs;
}

CsbmRecipe read_csbm_recipe(const SolverOptions& options, const CsbmVariant& variant) {
  CsbmRecipe recipe{};
  recipe.both_directions = variant.both_directions;
  recipe.halves = !variant.both_directions && options.choice("order", kOrders) == 1;
  recipe.num_steps = options.integer("num_steps", 1, 1 << 20);
  recipe.loss = options.choice("loss", kLosses) == 0 ? backend::MatchingLoss::kKl
                                                     : backend::MatchingLoss::kMse;
  recipe.hidden = parse_widths(options.text("hidden"));
  const auto width = static_cast<std::size_t>(options.integer("embedding_size", 1, 1 << 10));
  recipe.category_width = options.choice("input", kInputs) == 0 ? 0 : width;
  recipe.optimal_start = options.choice("initial", kStarts) == 1;
  recipe.imf_iterations = options.integer("imf_iterations", 1, 1 << 20);
  recipe.updates_first = options.integer("updates_first", 1, 1 << 30);
  recipe.updates_later = options.integer("updates_later", 1, 1 << 30);
  recipe.batch_size = static_cast<std::size_t>(options.integer("batch_size", 1, 1 << 20));
  recipe.points = static_cast<std::size_t>(options.integer("points", 1, 1 << 10));
  recipe.learning_rate = options.real("learning_rate", 0.0, 100.0);
  recipe.weight_decay = options.real("weight_decay", 0.0, 100.0);
  recipe.ema = options.real("ema", 0.0, 1.0);
  recipe.checkpoint_seconds = options.real("checkpoint_every", 0.0, 1e9);
  recipe.log_every = options.integer("log_every", 1, 1 << 30);
  return recipe;
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
