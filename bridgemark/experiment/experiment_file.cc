#include "bridgemark/experiment/experiment_file.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/suggest.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/name_pattern.h"
#include "bridgemark/pair/pair_spec.h"

namespace bridgemark {

ExperimentFile::ExperimentFile(std::string name, std::string_view text)
    : toml_(std::move(name), text) {
  toml_.expect_keys(toml_.root(), "the file", {"name", "description", "evaluation", "grid"});
}

std::string ExperimentFile::name() const {
  const auto [name, line] = toml_.required_text(toml_.root(), "name", "the file");
  if (name.empty()) toml_.fail(line, "'name' must not be empty");
  return name;
}

std::string ExperimentFile::description() const {
  const toml::node* node = toml_.root().get("description");
  return node == nullptr ? "" : toml_.text_of(*node, "description");
}

toml::source_index ExperimentFile::num_steps_line() const {
  const toml::table* table = toml_.table_of(toml_.root(), "evaluation");
  const toml::node* steps = table == nullptr ? nullptr : table->get("num_steps");
  return steps == nullptr ? 0 : TomlReader::line_of(*steps);
}

EvaluationOptions ExperimentFile::evaluation() const {
  EvaluationOptions evaluation;
  const toml::table* table = toml_.table_of(toml_.root(), "evaluation");
  if (!table) return evaluation;
  toml_.expect_keys(*table, "[evaluation]",
                    {"seeds", "num_steps", "trajectories", "conditional_samples", "c2st",
                     "particles", "max_seconds"});
  const auto whole = [&](const toml::node& node, const char* key, std::int64_t high) {
    return toml_.integer_of(node, key, 1, high);
  };
  if (const toml::node* seeds = table->get("seeds")) {
    evaluation.num_seeds = static_cast<int>(whole(*seeds, "seeds", kMaxEvaluationSeeds));
  }
  if (const toml::node* steps = table->get("num_steps")) {
    evaluation.num_steps = static_cast<int>(whole(*steps, "num_steps", kMaxTotalSteps));
  }
  if (const toml::node* trajectories = table->get("trajectories")) {
    evaluation.num_trajectories =
        static_cast<std::size_t>(whole(*trajectories, "trajectories", kMaxTrajectories));
  }
  if (const toml::node* samples = table->get("conditional_samples")) {
    evaluation.conditional_samples =
        static_cast<std::size_t>(whole(*samples, "conditional_samples", kMaxConditionalSamples));
  }
  if (const toml::node* particles = table->get("particles")) {
    evaluation.particles = static_cast<std::size_t>(
        toml_.integer_of(*particles, "particles", 0, std::int64_t{kMaxParticles}));
  }
  if (const toml::node* seconds = table->get("max_seconds")) {
    constexpr std::int64_t kYear = 366 * 86400;
    evaluation.max_seconds =
        static_cast<double>(toml_.integer_of(*seconds, "max_seconds", 0, kYear));
  }
  if (const toml::node* c2st = table->get("c2st")) {
    evaluation.c2st = toml_.flag_of(*c2st, "c2st");
  }
  return evaluation;
}

GridTable ExperimentFile::read_grid(const toml::table& table) const {
  toml_.expect_keys(table, "[[grid]]",
                    {"pairs", "instances", "solvers", "samples", "training_sets", "seeds", "label",
                     "both_directions", "options"});
  GridTable grid;
  std::vector<std::uint64_t> instances = {0};
  if (const toml::node* node = table.get("instances")) {
    instances = numbers(*node, "instances", kMaxInstance);
  }
  for (const auto& [name, line] : toml_.required_texts(table, "pairs", "[[grid]]")) {
    for (const std::string& pair : expand_pair(name, line)) {
      for (const std::uint64_t number : instances) {
        grid.pairs.push_back({instance(pair, static_cast<int>(number), line), line});
      }
    }
  }
  grid.solvers = toml_.required_texts(table, "solvers", "[[grid]]");
  if (const toml::node* label = table.get("label")) grid.label = toml_.text_of(*label, "label");
  if (const toml::node* both = table.get("both_directions")) {
    grid.both_directions = toml_.flag_of(*both, "both_directions");
  }
  for (const auto& [name, line] : grid.solvers) {
    if (known_solver(name, line).has_both_directions() || !grid.both_directions) continue;
    toml_.fail(line, "both_directions needs solvers that answer both from one training, got {}",
               name);
  }
  read_training_sets(table, grid);
  if (const toml::node* seeds = table.get("seeds")) {
    grid.seeds = numbers(*seeds, "seeds", INT64_MAX);
  }
  if (const toml::table* options = toml_.table_of(table, "options")) {
    for (const auto& [key, node] : *options) {
      grid.options.push_back(choices(std::string(key.str()), node));
    }
  }
  return grid;
}

void ExperimentFile::read_training_sets(const toml::table& table, GridTable& grid) const {
  const toml::node* sets = table.get("training_sets");
  if (const toml::node* samples = table.get("samples")) {
    const auto most = static_cast<std::int64_t>(kMaxTrainingRows);
    if (samples->is_integer()) {  // one number of rows
      grid.samples = {static_cast<std::uint64_t>(toml_.integer_of(*samples, "samples", 0, most))};
    } else {
      grid.samples = numbers(*samples, "samples", most);
    }
  }
  if (!sets) return;
  grid.training_sets = numbers(*sets, "training_sets", INT64_MAX);
  if (std::ranges::all_of(grid.samples, [](std::uint64_t n) { return n == 0; })) {
    toml_.fail(TomlReader::line_of(*sets),
               "'training_sets' needs 'samples' above 0, the number of rows to train on");
  }
}

// A list of whole numbers, or how many there are from 0 on.
std::vector<std::uint64_t> ExperimentFile::numbers(const toml::node& node, const char* key,
                                                   std::int64_t high) const {
  std::vector<std::uint64_t> all;
  if (node.is_integer()) {
    all.resize(static_cast<std::size_t>(toml_.integer_of(node, key, 1, kMaxRuns)));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const toml::array* array = node.as_array();
  if (!array || array->empty()) {
    toml_.fail(TomlReader::line_of(node),
               "'{}' must be a whole number or a list with at least one, got {}", key,
               array ? "an empty one" : toml_.kind_of(node));
  }
  for (const toml::node& number : *array) {
    all.push_back(static_cast<std::uint64_t>(toml_.integer_of(number, key, 0, high)));
  }
  return all;
}

std::string ExperimentFile::instance(const std::string& pair, int number,
                                     toml::source_index line) const {
  if (number == 0) return pair;
  if (!find_preset(pair) || instance_of(pair).number != 0) {
    toml_.fail(line, "'instances' are of presets, got the pair '{}'", pair);
  }
  const std::string name = instance_name({pair, number});
  if (!find_preset(name)) {
    toml_.fail(line, "'instances' are of presets with a seed, got the pair '{}'", pair);
  }
  return name;
}

OptionChoices ExperimentFile::choices(const std::string& key, const toml::node& node) const {
  OptionChoices choices{key, {}, node.is_array()};
  const auto add = [&](const toml::node& value) {
    std::string text;
    if (const auto string = value.value_exact<std::string>()) {
      text = *string;
    } else if (const auto integer = value.value_exact<std::int64_t>()) {
      text = std::to_string(*integer);
    } else if (const auto real = value.value_exact<double>()) {
      text = fmt::format("{}", *real);
    } else if (const auto flag = value.value_exact<bool>()) {
      text = *flag ? "true" : "false";
    } else {
      toml_.fail(TomlReader::line_of(value),
                 "option '{}' must be text, a number or true or false, or a list of them, got {}",
                 key, toml_.kind_of(value));
    }
    choices.values.push_back({std::move(text), TomlReader::line_of(value)});
  };
  if (const toml::array* array = node.as_array()) {
    if (array->empty()) toml_.fail(TomlReader::line_of(node), "option '{}' has an empty list", key);
    for (const toml::node& value : *array) add(value);
  } else {
    add(node);
  }
  return choices;
}

std::vector<std::string> ExperimentFile::expand_pair(const std::string& name,
                                                     toml::source_index line) const {
  if (!is_pattern(name)) {
    try {
      load_pair(name);
    } catch (const Error& error) {
      toml_.fail(line, "{}", error.what());
    }
    return {name};
  }
  std::vector<std::string> found, all;
  for (const char* suffix : {"", "-reverse"}) {
    for (const PairSpec& spec : preset_specs()) all.push_back(spec.name + suffix);
  }
  for (const std::string& preset : all) {
    // A pattern means the forward pairs unless it ends like a reversed one.
    if (preset.ends_with("-reverse") != name.ends_with("-reverse")) continue;
    if (matches(name, preset)) found.push_back(preset);
  }
  if (found.empty()) {
    toml_.fail(line, "the pattern '{}' matches no preset{}", name, nearest_hint(name, all));
  }
  return found;
}

const Solver& ExperimentFile::known_solver(const std::string& name, toml::source_index line) const {
  try {
    return find_solver(name);
  } catch (const Error& error) {
    toml_.fail(line, "{}", error.what());
  }
}

}  // namespace bridgemark
