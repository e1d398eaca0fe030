#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bridgemark/io/toml_reader.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/solver/registry.h"

namespace bridgemark {

inline constexpr std::size_t kMaxRuns = 100000;  // of an experiment

// One value of an option and its line in the file.
struct OptionValue {
  std::string text;
  toml::source_index line = 0;
};

struct OptionChoices {
  std::string key;
  std::vector<OptionValue> values;
  bool varied = false;  // given as a list
};

// A table [[grid]]: the products of its lists.
struct GridTable {
  std::vector<TextAtLine> pairs;
  std::vector<TextAtLine> solvers;
  std::vector<std::uint64_t> samples = {0};
  std::vector<std::uint64_t> training_sets = {0};
  std::vector<std::uint64_t> seeds = {0};
  std::string label;
  bool both_directions = false;
  std::vector<OptionChoices> options;
};

// The tables of an experiment's file (experiment.h), checked one by one. Everything throws
// FileError with the line of what is wrong.
class ExperimentFile {
 public:
  ExperimentFile(std::string name, std::string_view text);

  // Says what is wrong with a line, as the file's own checks do.
  const TomlReader& toml() const { return toml_; }

  std::string name() const;
  std::string description() const;  // empty where there is none
  EvaluationOptions evaluation() const;
  toml::source_index num_steps_line() const;  // of the evaluation; 0 where it has none
  std::vector<const toml::table*> grids() const {
    return toml_.required_tables(toml_.root(), "grid");
  }
  GridTable read_grid(const toml::table& table) const;

 private:
  void read_training_sets(const toml::table& table, GridTable& grid) const;
  std::vector<std::uint64_t> numbers(const toml::node& node, const char* key,
                                     std::int64_t high) const;
  std::string instance(const std::string& pair, int number, toml::source_index line) const;
  OptionChoices choices(const std::string& key, const toml::node& node) const;
  std::vector<std::string> expand_pair(const std::string& name, toml::source_index line) const;
  const Solver& known_solver(const std::string& name, toml::source_index line) const;

  TomlReader toml_;
};

}  // namespace bridgemark
