#include "bridgemark/solver/core/shared_options.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "bridgemark/process/reference_process.h"

namespace bridgemark {

OptionSpec recipe_option() {
  return {.key = "recipe",
          .kind = Choices{{"tuned", "paper"}},
          .default_value = "tuned",
          .help = "decides what is left empty below"};
}

OptionSpec updates_option(std::string key, OptionDefault tuned, OptionDefault paper,
                          std::string help) {
  return {.key = std::move(key),
          .kind = IntegerRange{1, 1 << 30},
          .default_value = std::move(tuned),
          .paper = std::move(paper),
          .help = std::move(help),
          .counts_updates = true};
}

OptionSpec batch_size_option(OptionDefault value, std::optional<OptionDefault> paper,
                             std::string help) {
  return {.key = "batch_size",
          .kind = IntegerRange{1, 1 << 20},
          .default_value = std::move(value),
          .paper = std::move(paper),
          .help = std::move(help)};
}

OptionSpec learning_rate_option(OptionDefault tuned, OptionDefault paper) {
  return {.key = "learning_rate",
          .kind = RealRange{0.0, 100.0},
          .default_value = std::move(tuned),
          .paper = std::move(paper),
          .help = "of AdamW, betas 0.95 and 0.99"};
}

OptionSpec weight_decay_option(OptionDefault value, std::optional<OptionDefault> paper) {
  return {.key = "weight_decay",
          .kind = RealRange{0.0, 100.0},
          .default_value = std::move(value),
          .paper = std::move(paper),
          .help = "of AdamW"};
}

OptionSpec num_steps_option() {
  return {.key = "num_steps",
          .kind = IntegerRange{1, kMaxTotalSteps},
          .default_value = "64",
          .help = "steps of the chain"};
}

OptionSpec loss_option() {
  return {.key = "loss",
          .kind = Choices{{"kl", "mse"}},
          .default_value = "kl",
          .help = "between a step of the model and that of the pinned reference"};
}

std::vector<OptionSpec> data_options() {
  return {{.key = "x0_data",
           .kind = FilePath{},
           .default_value = "",
           .help = "integer .npy [n,D] to fit to instead of draws of p0"},
          {.key = "x1_data",
           .kind = FilePath{},
           .default_value = "",
           .help = "integer .npy [n,D] to fit to instead of draws of p1"}};
}

std::vector<OptionSpec> writing_options() {
  return {{.key = "checkpoint_every",
           .kind = RealRange{0.0, 1e9},
           .default_value = "30",
           .help = "seconds between checkpoints"},
          {.key = "log_every",
           .kind = IntegerRange{1, 1 << 30},
           .default_value = "100",
           .help = "updates between lines of the log"},
          {.key = "validate_every",
           .kind = IntegerRange{0, 1 << 30},
           .default_value = "0",
           .help = "updates between scores against the truth of a pair, which go to the log and "
                   "change nothing else: the joint KL of bridges, of chains the forward trajectory "
                   "KL; 0: none"}};
}

void append(std::vector<OptionSpec>& specs, std::vector<OptionSpec> more) {
  std::ranges::move(more, std::back_inserter(specs));
}

OptionSpec& spec_of(std::vector<OptionSpec>& specs, std::string_view key) {
  const auto found = std::ranges::find(specs, key, &OptionSpec::key);
  assert(found != specs.end());
  return *found;
}

}  // namespace bridgemark
