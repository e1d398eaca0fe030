#include "bridgemark/solver/core/run.h"

#include <bit>
#include <charconv>
#include <chrono>
#include <limits>
#include <span>
#include <sstream>
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "bridgemark/backend/ops.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/resources.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/atomic_file.h"
#include "bridgemark/io/json.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/solver/core/data_file.h"
#include "bridgemark/solver/core/run_result.h"
#include "bridgemark/solver/core/training_loop.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {

namespace {

constexpr char kConfig[] = "config.toml";
constexpr char kModel[] = "model.safetensors";
constexpr char kCheckpoint[] = "checkpoint.safetensors";
constexpr char kLog[] = "log.jsonl";
constexpr char kResult[] = "result.json";

SolverOptions resolve_options(const Solver& solver, const RunConfig& config) {
  SolverOptions options(solver.options());
  for (const auto& [key, value] : config.options) options.set(key, value);
  solver.resolve(options);
  return options;
}

// FNV-1a over the bits of what defines the truth: custom pairs may share name and seed. A matrix
// reference stays out, since its last bits change on the way through a folder.
std::string fingerprint(const BenchmarkPair& pair) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](std::span<const double> values) {
    for (const double value : values) {
      const auto bits = std::bit_cast<std::uint64_t>(value);
      for (int shift = 0; shift < 64; shift += 8) {
        hash = (hash ^ ((bits >> shift) & 0xff)) * 0x100000001b3u;
      }
    }
  };
  const auto add_array = [&](const Array3<double>& array) { add({array.data(), array.size()}); };
  const Bridge& bridge = pair.bridge();
  const ReferenceProcess& process = bridge.process();
  add(bridge.log_weights());
  add_array(bridge.log_cores());
  add_array(bridge.log_moves());
  if (const auto& source = pair.source_potential()) {
    add(source->log_beta());
    add_array(source->log_cores());
  }
  const double reference[] = {static_cast<double>(process.kind()),
                              static_cast<double>(process.total_steps()),
                              process.kind() == ReferenceKind::kMatrix ? 0.0 : process.gamma()};
  add(reference);
  return fmt::format("{:016x}", hash);
}

nlohmann::json identity_json(const BenchmarkPair& pair) {
  return {{"name", pair.identity().name},
          {"version", pair.identity().version},
          {"seed", pair.identity().seed},
          {"reverse", pair.reverse()},
          {"fingerprint", fingerprint(pair)}};
}

// What a run was fitted to.
nlohmann::json problem_json(const FitProblem& problem) {
  if (problem.pair()) return identity_json(*problem.pair());
  const DataEnds& ends = *problem.data();
  nlohmann::json data = {{"name", problem.name()},
                         {"x0_rows", ends.x0.states().rows()},
                         {"x1_rows", ends.x1.states().rows()},
                         {"dim", problem.dim()},
                         {"num_categories", problem.num_categories()},
                         {"reference", reference_kind_name(ends.reference.kind())},
                         {"total_steps", ends.reference.total_steps()}};
  if (ends.reference.kind() != ReferenceKind::kMatrix) data["gamma"] = ends.reference.gamma();
  return data;
}

// Keeps the data of a run with it, or refuses other data than it has.
void keep_data(const FitProblem& problem, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kRunData;
  const bool there = std::filesystem::exists(path);
  if (problem.pair() ? there : there && !same_data(problem, load_data(path))) {
    throw_file(folder.string(), "holds a run of other data (see {})", kRunData);
  }
  if (!problem.pair() && !there) save_data(problem, path);
}

void require_complete(const std::filesystem::path& folder) {
  if (is_complete_run(folder)) return;
  throw_file(folder.string(), "the run is not complete; finish it with train --resume");
}

[[noreturn]] void refuse_second_run(const std::filesystem::path& folder) {
  throw_file(folder.string(), "already holds a run; give another folder or --resume");
}

// The files that follow a fit. result.json comes last: its presence says that the run is complete.
void complete_run(const Context& context, const RunConfig& config, const FitProblem& problem,
                  const Fitted& fitted, double seconds, const std::filesystem::path& folder) {
  find_solver(config.solver).save(*fitted.coupling, folder / kModel);
  if (!std::filesystem::exists(folder / kLog)) {
    const nlohmann::json event = {{"event", "fitted"}, {"seconds", seconds}};
    write_file_atomically(folder / kLog, event.dump() + "\n");
  }
  save_json(folder / kResult, {{"solver", config.solver},
                               {"pair", problem_json(problem)},
                               {"seed", config.seed},
                               {"options", config.options},
                               {"version", kVersion},
                               {"device", device_name(context.device)},
                               {"machine", backend::machine_of(context)},
                               {"threads", context.threads()},
                               {"wall_seconds", seconds},
                               {"peak_memory_bytes", peak_memory_bytes()},
                               {"diagnostics", diagnostics_json(fitted.diagnostics)}});
}

}  // namespace

void save_run_config(const RunConfig& config, const std::filesystem::path& folder) {
  toml::table options;
  for (const auto& [key, value] : config.options) options.insert(key, value);
  // TOML integers end at 2^63 - 1, so the seed travels as text.
  const toml::table table{{"solver", config.solver},
                          {"pair", config.pair},
                          {"seed", std::to_string(config.seed)},
                          {"options", options}};
  std::ostringstream text;
  text << table << '\n';
  write_file_atomically(folder / kConfig, text.str());
}

RunConfig load_run_config(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kConfig;
  const std::string file = path.string();
  const std::string text = read_file(path, std::size_t{1} << 20);
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw_file(file, "line {}: {}", error.source().begin.line, error.description());
  }
  const auto string_at = [&](const char* key) {
    const auto value = table[key].value_exact<std::string>();
    if (!value) throw_file(file, "'{}' must be a string", key);
    return *value;
  };
  RunConfig config;
  config.solver = string_at("solver");
  config.pair = string_at("pair");
  const std::string seed = string_at("seed");
  const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), config.seed);
  if (error != std::errc() || end != seed.data() + seed.size()) {
    throw_file(file, "'seed' must be a whole number, got '{}'", seed);
  }
  if (const toml::table* options = table["options"].as_table()) {
    for (const auto& [key, value] : *options) {
      const auto option = value.value_exact<std::string>();
      if (!option) throw_file(file, "option '{}' must be a string", key.str());
      config.options[std::string(key.str())] = *option;
    }
  }
  return config;
}

bool is_complete_run(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / kResult);
}

void train_run(const Context& context, const RunConfig& config, const std::filesystem::path& folder,
               bool resume) {
  resolve_options(find_solver(config.solver), config);  // complains before the pair is loaded
  train_run(context, config, load_pair(config.pair), folder, resume);
}

Fitted train_run(const Context& context, const RunConfig& request, const FitProblem& problem,
                 const std::filesystem::path& folder, bool resume) {
  const Solver& solver = find_solver(request.solver);
  const SolverOptions options = resolve_options(solver, request);
  RunConfig config = request;
  config.options = options.values();

  if (std::filesystem::exists(folder / kConfig)) {
    if (!resume) refuse_second_run(folder);
    const RunConfig before = load_run_config(folder);
    if (before.solver != config.solver || before.pair != config.pair ||
        before.seed != config.seed || before.options != config.options) {
      throw_file(folder.string(), "holds a run with another configuration (see {})", kConfig);
    }
    keep_data(problem, folder);
    if (is_complete_run(folder)) {
      return {problem.pair() ? load_run(context, *problem.pair(), folder)
                             : solver.load(context, problem, folder / kModel),
              read_diagnostics(load_run_result(folder).at("diagnostics"))};
    }
  }
  const bool new_run = !std::filesystem::exists(folder / kConfig);
  const bool new_folder = !std::filesystem::exists(folder);
  create_folder(folder);
  save_run_config(config, folder);
  if (new_run) keep_data(problem, folder);

  const auto started = std::chrono::steady_clock::now();
  Fitted fitted;
  try {
    fitted =
        solver.fit(context, problem, options, config.seed, {folder / kCheckpoint, folder / kLog});
  } catch (const InvalidArgument&) {  // what was asked for cannot be: leave no run behind
    std::error_code ignored;
    if (new_run) {
      std::filesystem::remove(folder / kConfig, ignored);
      std::filesystem::remove(folder / kRunData, ignored);
    }
    if (new_folder) std::filesystem::remove(folder, ignored);
    throw;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  complete_run(context, config, problem, fitted, seconds, folder);
  return fitted;
}

void save_run(const Context& context, const RunConfig& request, const FitProblem& problem,
              const Fitted& fitted, double seconds, const std::filesystem::path& folder) {
  RunConfig config = request;
  config.options = resolve_options(find_solver(request.solver), request).values();
  if (std::filesystem::exists(folder / kConfig)) refuse_second_run(folder);
  create_folder(folder);
  save_run_config(config, folder);
  keep_data(problem, folder);
  complete_run(context, config, problem, fitted, seconds, folder);
}

nlohmann::json load_run_result(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kResult;
  nlohmann::json result = load_json(path);
  const auto require = [&](const char* key, bool (nlohmann::json::*is)() const noexcept,
                           const char* kind) {
    if (!result.contains(key) || !(result[key].*is)()) {
      throw_file(path.string(), "'{}' must be {}", key, kind);
    }
  };
  require("pair", &nlohmann::json::is_object, "an object");
  require("diagnostics", &nlohmann::json::is_object, "an object");
  require("wall_seconds", &nlohmann::json::is_number, "a number");
  for (const auto& [key, value] : result["diagnostics"].items()) {
    if (value.is_structured()) {
      throw_file(path.string(), "diagnostic '{}' must be a number, text or true or false", key);
    }
  }
  return result;
}

nlohmann::json diagnostics_json(const Diagnostics& diagnostics) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [key, value] : diagnostics) {
    std::visit([&](const auto& kind) { object[key] = kind; }, value);
  }
  return object;
}

Diagnostics read_diagnostics(const nlohmann::json& object) {
  Diagnostics diagnostics;
  for (const auto& [key, value] : object.items()) {
    if (value.is_boolean()) {
      diagnostics[key] = value.get<bool>();
    } else if (value.is_number_integer()) {
      diagnostics[key] = value.get<std::int64_t>();
    } else if (value.is_number()) {
      diagnostics[key] = value.get<double>();
    } else if (value.is_string()) {
      diagnostics[key] = value.get<std::string>();
    } else {
      diagnostics[key] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return diagnostics;
}

LoadedRun load_whole_run(const Context& context, const std::filesystem::path& folder) {
  RunConfig config = load_run_config(folder);
  if (!std::filesystem::exists(folder / kRunData)) {
    const BenchmarkPair pair = load_pair(config.pair);
    return {std::move(config), pair, load_run(context, pair, folder)};
  }
  require_complete(folder);
  FitProblem problem = load_data(folder / kRunData);
  auto coupling = find_solver(config.solver).load(context, problem, folder / kModel);
  return {std::move(config), std::move(problem), std::move(coupling)};
}

std::shared_ptr<const Coupling> load_run(const Context& context, const BenchmarkPair& pair,
                                         const std::filesystem::path& folder) {
  const RunConfig config = load_run_config(folder);
  require_complete(folder);
  if (std::filesystem::exists(folder / kRunData)) {
    throw_invalid("run", "{} must be fitted to pair '{}', got data, which has no truth to score by",
                  folder.string(), pair.identity().name);
  }
  const Solver& solver = find_solver(config.solver);
  nlohmann::json fitted_to = load_run_result(folder).at("pair"), asked = identity_json(pair);
  if (fitted_to == asked) return solver.load(context, pair, folder / kModel);

  // The same truth in the other direction, whatever its name: some solvers answer both.
  asked["reverse"] = !pair.reverse();
  asked["name"] = fitted_to.value("name", "");
  if (fitted_to != asked) {
    throw_invalid("run", "{} was fitted to pair {}, got {}", folder.string(), fitted_to.dump(),
                  identity_json(pair).dump());
  }
  const auto coupling = solver.load(context, pair.reversed(), folder / kModel)->reversed();
  if (!coupling) {
    throw_invalid(
        "run", "{} was fitted to pair '{}', and {} answers that direction alone, got '{}'",
        folder.string(), fitted_to.value("name", ""), config.solver, pair.identity().name);
  }
  return coupling;
}

}  // namespace bridgemark
