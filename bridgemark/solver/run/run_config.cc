#include <charconv>
#include <sstream>
#include <system_error>

#include "bridgemark/core/error.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/toml_text.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/run/run_files.h"
#include "bridgemark/solver/run/run_identity.h"
#include "bridgemark/solver/run/run_pair.h"

namespace bridgemark {

namespace {

// For a pair in a folder.
constexpr char kPairPath[] = "pair_path", kPairFromRun[] = "pair_from_run";

// What says that a run is none of the library's solvers: python/bridgemark/torch/ writes it.
constexpr char kRunKind[] = "kind", kTorchRun[] = "torch";
// Or of a table: bridgemark/solver/table/table_run.h writes it.
constexpr char kTableRun[] = "table";

}  // namespace

void save_run_config(const RunConfig& config, const std::filesystem::path& folder) {
  toml::table options;
  for (const auto& [key, value] : config.options) options.insert(key, value);
  // TOML integers end at 2^63 - 1, so seeds travel as text.
  toml::table table{{"solver", config.solver},
                    {"pair", config.pair},
                    {"seed", std::to_string(config.seed)},
                    {"options", options}};
  if (!config.identity.empty()) table.insert(kRunIdentityKey, config.identity);
  if (const auto paths = paths_of_pair(config.pair, folder)) {
    table.insert(kPairPath, paths->whole);
    table.insert(kPairFromRun, paths->from_run);
  }
  if (config.rows.samples > 0) {
    table.insert("samples", std::to_string(config.rows.samples));
    table.insert("training_set", std::to_string(config.rows.training_set));
  }
  std::ostringstream text;
  text << table << '\n';
  write_file_atomically(folder / kRunConfig, text.str());
}

RunConfig load_run_config(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kRunConfig;
  const std::string file = path.string();
  if (path_exists(folder / kRunLabels) && !path_exists(path)) {
    throw_file(folder.string(),
               "holds a run for each label: give the labels of the rows (--condition), or the run "
               "of one label, label-LABEL in it");
  }
  if (folder.empty()) throw_invalid("run", "a run folder must have a name, got none");
  if (path_exists(folder) && !is_folder(folder)) {
    throw_file(folder.string(), "is a file, expected the folder of a run");
  }
  if (is_folder(folder) && !path_exists(path)) {
    throw_file(folder.string(), "holds no run, looked for {} in it", kRunConfig);
  }
  const std::string text = read_file(path, std::size_t{1} << 20);
  const toml::table table = parse_toml(text, file);
  const auto string_at = [&](const char* key) {
    const auto value = table[key].value_exact<std::string>();
    if (!value) throw_file(file, "'{}' must be a string", key);
    return *value;
  };
  if (table.contains(kRunKind)) {
    const std::string kind = string_at(kRunKind);
    if (kind == kTorchRun) {
      throw_file(folder.string(),
                 "holds a run of bridgemark.torch, whose network needs Python: load it there by "
                 "bridgemark.torch.load(folder)");
    }
    if (kind == kTableRun) {
      throw_file(folder.string(),
                 "holds a run of a table, whose rows are given as .csv: train, sample and evaluate "
                 "--x0 --x1 take it");
    }
    throw_file(file, "'{}' must be '{}' or not there, got '{}'", kRunKind, kTorchRun, kind);
  }
  RunConfig config;
  config.solver = string_at("solver");
  config.pair = string_at("pair");
  const auto number_at = [&](const char* key, auto& value) {
    const std::string number = string_at(key);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size()) {
      throw_file(file, "'{}' must be a whole number, got '{}'", key, number);
    }
  };
  number_at("seed", config.seed);
  if (table.contains("samples")) {
    number_at("samples", config.rows.samples);
    number_at("training_set", config.rows.training_set);
  }
  if (table.contains(kRunIdentityKey)) config.identity = string_at(kRunIdentityKey);
  if (table.contains(kPairPath)) {
    config.pair_paths = {string_at(kPairPath), string_at(kPairFromRun)};
  }
  if (const toml::table* options = table["options"].as_table()) {
    for (const auto& [key, value] : *options) {
      const auto option = value.value_exact<std::string>();
      if (!option) throw_file(file, "option '{}' must be a string", key.str());
      config.options[std::string(key.str())] = *option;
    }
  }
  for (const auto& solver : all_solvers()) {
    if (solver->name() != config.solver) continue;
    config.options = with_todays_keys(solver->options(), std::move(config.options));
  }
  return config;
}

}  // namespace bridgemark
