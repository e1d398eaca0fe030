#include "bridgemark/experiment/experiment.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "bridgemark/core/error.h"
#include "bridgemark/core/suggest.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/toml_reader.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {

namespace {

constexpr std::size_t kMaxRuns = 100000;

bool is_pattern(std::string_view text) { return text.find_first_of("*?") != text.npos; }

bool matches(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// One value of an option and the line it stands on.
struct OptionValue {
  std::string text;
  toml::source_index line = 0;
};

struct OptionChoices {
  std::string key;
  std::vector<OptionValue> values;
  bool varied = false;  // given as a list
};

struct Grid {
  std::vector<TextAtLine> pairs;
  std::vector<TextAtLine> solvers;
  std::vector<std::uint64_t> samples = {0};
  std::vector<std::uint64_t> training_sets = {0};
  std::vector<std::uint64_t> seeds = {0};
  std::string label;
  bool both_directions = false;
  std::vector<OptionChoices> options;
};

class Reader {
 public:
  Reader(std::string file, std::string text) : toml_(std::move(file), text) {
    experiment_.text = std::move(text);
  }

  Experiment read() {
    const toml::table& root = toml_.root();
    toml_.expect_keys(root, "the file", {"name", "description", "evaluation", "grid"});
    const auto [name, name_line] = toml_.required_text(root, "name", "the file");
    if (name.empty()) toml_.fail(name_line, "'name' must not be empty");
    experiment_.name = name;
    if (const toml::node* node = root.get("description")) {
      experiment_.description = toml_.text_of(*node, "description");
    }
    read_evaluation();
    for (const toml::table* grid : toml_.required_tables(root, "grid")) expand(read_grid(*grid));
    return std::move(experiment_);
  }

 private:
  static toml::source_index line_of(const toml::node& node) { return TomlReader::line_of(node); }

  void read_evaluation() {
    const toml::table* table = toml_.table_of(toml_.root(), "evaluation");
    if (!table) return;
    toml_.expect_keys(*table, "[evaluation]",
                      {"seeds", "num_steps", "trajectories", "conditional_samples", "c2st",
                       "particles", "max_seconds"});
    const auto whole = [&](const toml::node& node, const char* key, std::int64_t high) {
      return toml_.integer_of(node, key, 1, high);
    };
    if (const toml::node* seeds = table->get("seeds")) {
      evaluation_.num_seeds = static_cast<int>(whole(*seeds, "seeds", kMaxEvaluationSeeds));
    }
    if (const toml::node* steps = table->get("num_steps")) {
      evaluation_.num_steps = static_cast<int>(whole(*steps, "num_steps", kMaxTotalSteps));
      num_steps_line_ = line_of(*steps);
    }
    if (const toml::node* trajectories = table->get("trajectories")) {
      evaluation_.num_trajectories =
          static_cast<std::size_t>(whole(*trajectories, "trajectories", kMaxTrajectories));
    }
    if (const toml::node* samples = table->get("conditional_samples")) {
      evaluation_.conditional_samples =
          static_cast<std::size_t>(whole(*samples, "conditional_samples", kMaxConditionalSamples));
    }
    if (const toml::node* particles = table->get("particles")) {
      evaluation_.particles = static_cast<std::size_t>(
          toml_.integer_of(*particles, "particles", 0, std::int64_t{kMaxParticles}));
    }
    if (const toml::node* seconds = table->get("max_seconds")) {
      constexpr std::int64_t kYear = 366 * 86400;
      evaluation_.max_seconds =
          static_cast<double>(toml_.integer_of(*seconds, "max_seconds", 0, kYear));
    }
    if (const toml::node* c2st = table->get("c2st")) {
      evaluation_.c2st = toml_.flag_of(*c2st, "c2st");
    }
  }

  Grid read_grid(const toml::table& table) const {
    toml_.expect_keys(table, "[[grid]]",
                      {"pairs", "instances", "solvers", "samples", "training_sets", "seeds",
                       "label", "both_directions", "options"});
    Grid grid;
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
    read_samples(table, grid);
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

  void read_samples(const toml::table& table, Grid& grid) const {
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
      toml_.fail(line_of(*sets),
                 "'training_sets' needs 'samples' above 0, the number of rows to train on");
    }
  }

  // What each run of a solver is trained on.
  static std::vector<TrainingRows> rows_of(const Grid& grid, const Solver& solver) {
    if (!solver.learns_from_rows()) return {{}};
    std::vector<TrainingRows> all;
    for (const std::uint64_t samples : grid.samples) {
      for (const std::uint64_t set : grid.training_sets) {
        all.push_back(samples == 0 ? TrainingRows{} : TrainingRows{samples, set});
        if (samples == 0) break;
      }
    }
    return all;
  }

  // A list of whole numbers, or how many there are from 0 on.
  std::vector<std::uint64_t> numbers(const toml::node& node, const char* key,
                                     std::int64_t high) const {
    std::vector<std::uint64_t> all;
    if (node.is_integer()) {
      all.resize(static_cast<std::size_t>(toml_.integer_of(node, key, 1, kMaxRuns)));
      std::iota(all.begin(), all.end(), 0);
      return all;
    }
    const toml::array* array = node.as_array();
    if (!array || array->empty()) {
      toml_.fail(line_of(node), "'{}' must be a whole number or a list with at least one, got {}",
                 key, array ? "an empty one" : toml_.kind_of(node));
    }
    for (const toml::node& number : *array) {
      all.push_back(static_cast<std::uint64_t>(toml_.integer_of(number, key, 0, high)));
    }
    return all;
  }

  std::string instance(const std::string& pair, int number, toml::source_index line) const {
    if (number == 0) return pair;
    if (!find_preset(pair) || instance_of(pair).number != 0) {
      toml_.fail(line, "'instances' are of presets, got the pair '{}'", pair);
    }
    return instance_name({pair, number});
  }

  OptionChoices choices(const std::string& key, const toml::node& node) const {
    OptionChoices choices{key, {}, node.is_array()};
    const auto add = [&](const toml::node& value) {
      std::string text;
      if (const auto string = value.value_exact<std::string>()) {
        text = *string;
      } else if (const auto integer = value.value_exact<std::int64_t>()) {
        text = std::to_string(*integer);
      } else if (const auto real = value.value_exact<double>()) {
        text = fmt::format("{}", *real);
      } else {
        toml_.fail(line_of(value),
                   "option '{}' must be text or a number, or a list of them, got {}", key,
                   toml_.kind_of(value));
      }
      choices.values.push_back({std::move(text), line_of(value)});
    };
    if (const toml::array* array = node.as_array()) {
      if (array->empty()) toml_.fail(line_of(node), "option '{}' has an empty list", key);
      for (const toml::node& value : *array) add(value);
    } else {
      add(node);
    }
    return choices;
  }

  std::vector<std::string> expand_pair(const std::string& name, toml::source_index line) const {
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
      toml_.fail(line, "the pattern '{}' matches no preset; the nearest is {}", name,
                 nearest_name(name, all));
    }
    return found;
  }

  const Solver& known_solver(const std::string& name, toml::source_index line) const {
    try {
      return find_solver(name);
    } catch (const Error& error) {
      toml_.fail(line, "{}", error.what());
    }
  }

  const BenchmarkPair& pair_of(const std::string& name) {
    const auto found = pairs_.find(name);
    return found != pairs_.end() ? found->second
                                 : pairs_.emplace(name, load_pair(name)).first->second;
  }

  // What a check of options is about: whether rows are endless or few matters to it, and not which
  // they are, so that no more than some are drawn.
  const FitProblem& checked_problem(const std::string& pair_name, const TrainingRows& rows) {
    constexpr std::size_t kEnoughRows = 256;
    const std::size_t samples = std::min(rows.samples, kEnoughRows);
    const auto key = std::pair(pair_name, samples);
    const auto found = problems_.find(key);
    if (found != problems_.end()) return found->second;
    return problems_.emplace(key, training_problem({}, pair_of(pair_name), {samples, 0}))
        .first->second;
  }

  void expand(const Grid& grid) {
    for (const auto& [pair, pair_line] : grid.pairs) {
      for (const auto& [solver, solver_line] : grid.solvers) {
        std::vector<std::size_t> chosen(grid.options.size(), 0);
        do {
          for (const TrainingRows& rows : rows_of(grid, find_solver(solver))) {
            for (const std::uint64_t seed : grid.seeds) {
              add_run(grid, pair, solver, solver_line, chosen, rows, seed);
            }
          }
        } while (next(grid, chosen));
      }
    }
  }

  // The next choice of options, the last key fastest; false after the last one.
  static bool next(const Grid& grid, std::vector<std::size_t>& chosen) {
    for (std::size_t i = chosen.size(); i-- > 0;) {
      if (++chosen[i] < grid.options[i].values.size()) return true;
      chosen[i] = 0;
    }
    return false;
  }

  void add_run(const Grid& grid, const std::string& pair_name, const std::string& solver_name,
               toml::source_index solver_line, const std::vector<std::size_t>& chosen,
               const TrainingRows& rows, std::uint64_t seed) {
    const Solver& solver = find_solver(solver_name);
    const BenchmarkPair& pair = pair_of(pair_name);
    SolverOptions options(solver.options());
    toml::source_index line = solver_line;  // what a refusal is about
    ExperimentRun run;
    run.method = grid.label.empty() ? solver_title(solver_name) : grid.label;
    try {
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const OptionChoices& option = grid.options[i];
        const OptionValue& value = option.values[chosen[i]];
        line = value.line;
        options.set(option.key, value.text);
        run.assignments.push_back(option.key + "=" + value.text);
        // Tables have columns for these two.
        if (option.varied && option.key != "loss" && option.key != "num_steps") {
          run.method += fmt::format(", {} {}", option.key, value.text);
        }
      }
      line = solver_line;
      solver.resolve(options);
      solver.check({}, checked_problem(pair_name, rows), options);
    } catch (const InvalidArgument& error) {
      toml_.fail(blame(grid, chosen, error.what(), line), "{} on {}: {}", solver_name, pair_name,
                 error.what());
    }
    run.config = {solver_name, pair_name, seed, options.values(), rows};
    run.dim = static_cast<int>(pair.dim());
    run.evaluation = evaluation_;
    // Each seed has draws of its own also where the solver has nothing to train.
    run.evaluation.seed = seed * static_cast<std::uint64_t>(evaluation_.num_seeds);
    run.evaluation.c2st = evaluation_.c2st || pair.reverse();
    // The number that evaluate would take by itself is named, so that a run's record says it.
    const auto own_steps = options.values().find("num_steps");
    run.evaluation.num_steps = own_steps != options.values().end()
                                   ? options.integer("num_steps")
                                   : evaluation_.num_steps.value_or(kTrajectorySteps);
    if (const int total = pair.reference().total_steps(); total % *run.evaluation.num_steps != 0) {
      toml_.fail(num_steps_line_ != 0 ? num_steps_line_ : solver_line,
                 "num_steps of the evaluation must divide the {} steps of {}, got {}", total,
                 pair_name, *run.evaluation.num_steps);
    }
    run.id = run_id(run, options);
    run.both_directions = grid.both_directions;
    for (const ExperimentRun& scored : scored_runs(run)) {
      if (!scored.scored_pair.empty() && !find_preset(scored.scored_pair)) {
        toml_.fail(solver_line, "both_directions needs presets that are not reversed, got {}",
                   pair_name);
      }
      if (ids_.insert(scored.id).second) continue;
      toml_.fail(
          solver_line,
          "the run {} is there already; give this grid a label of its own or drop one of the two",
          scored.id);
    }
    if (experiment_.runs.size() == kMaxRuns) toml_.fail(solver_line, "more than {} runs", kMaxRuns);
    experiment_.runs.push_back(std::move(run));
  }

  // The line of the option that a message names, else `line`.
  static toml::source_index blame(const Grid& grid, const std::vector<std::size_t>& chosen,
                                  const std::string& message, toml::source_index line) {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const bool named = message.find(" " + grid.options[i].key + " must") != message.npos;
      if (named) return grid.options[i].values[chosen[i]].line;
    }
    return line;
  }

  // pair.method[.loss][.steps][.nN.setI].seed
  static std::string run_id(const ExperimentRun& run, const SolverOptions& options) {
    std::string rest = run.method;
    if (rest == solver_title(run.config.solver)) rest = run.config.solver;
    for (const char* key : {"loss", "num_steps"}) {
      const auto value = options.values().find(key);
      if (value != options.values().end()) rest += "." + value->second;
    }
    rest += training_rows_suffix(run.config.rows);
    return run_id_text(run.config.pair, rest + fmt::format(".seed{}", run.config.seed));
  }

  TomlReader toml_;
  EvaluationOptions evaluation_;
  toml::source_index num_steps_line_ = 0;
  std::map<std::string, BenchmarkPair> pairs_;
  std::map<std::pair<std::string, std::size_t>, FitProblem> problems_;
  std::set<std::string> ids_;
  Experiment experiment_;
};

}  // namespace

Experiment load_experiment(const std::filesystem::path& path) {
  return Reader(path.string(), read_file(path, kMaxExperimentBytes)).read();
}

std::vector<ExperimentRun> select_runs(const std::vector<ExperimentRun>& runs,
                                       const std::vector<std::string>& filters) {
  if (filters.empty()) return runs;
  std::set<std::string> used;
  std::vector<ExperimentRun> selected;
  for (const ExperimentRun& run : runs) {
    bool wanted = false;
    for (const std::string& filter : filters) {
      const bool hit =
          is_pattern(filter) ? matches(filter, run.id) : run.id.find(filter) != std::string::npos;
      if (hit) used.insert(filter);
      wanted = wanted || hit;
    }
    if (wanted) selected.push_back(run);
  }
  for (const std::string& filter : filters) {
    if (used.contains(filter)) continue;
    std::vector<std::string> ids;
    for (const ExperimentRun& run : runs) ids.push_back(run.id);
    throw_invalid("run", "only '{}' names no run; the nearest is {}", filter,
                  nearest_name(filter, ids));
  }
  return selected;
}

std::vector<ExperimentRun> scored_runs(const ExperimentRun& run) {
  if (!run.both_directions) return {run};
  ExperimentRun reverse = run;
  reverse.scored_pair = run.config.pair + std::string(kReverseSuffix);
  const std::string of_pair = run_id_text(run.config.pair, "");
  const bool named = run.id.starts_with(of_pair);  // as all that an experiment's file asks for
  reverse.id = run_id_text(reverse.scored_pair, named ? run.id.substr(of_pair.size()) : run.id);
  reverse.evaluation.c2st = true;  // as always for a reversed pair
  return {run, reverse};
}

std::string run_id_text(const std::string& pair, const std::string& rest) {
  std::string name = std::filesystem::path(pair).lexically_normal().string();
  while (name.ends_with('/')) name.pop_back();
  std::string id = name.substr(name.rfind('/') + 1) + "." + rest;
  for (char& c : id) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '.' && c != '-' && c != '_') c = '-';
  }
  return id;
}

std::string solver_title(const std::string& solver) {
  static const std::map<std::string, std::string> titles = {
      {"oracle", "Oracle"},         {"independent", "Independent"},
      {"reference", "Reference"},   {"feature-wise", "Feature-wise SB"},
      {"sinkhorn", "Sinkhorn"},     {"dlightsb", "DLightSB"},
      {"dlightsb-m", "DLightSB-M"}, {"csbm", "CSBM"},
      {"alpha-csbm", "α-CSBM"},     {"dlightsb-chain", "DLightSB-chain"}};
  const auto found = titles.find(solver);
  return found == titles.end() ? solver : found->second;
}

}  // namespace bridgemark
