#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/solver/run/run.h"
#include "tests/io/io_testing.h"
#include "tests/support/small_pair.h"
#include "tests/support/temp_dir.h"

namespace bridgemark::testing {

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A small pair in a folder, and room for runs beside it.
class RunTest : public ::testing::Test {
 protected:
  RunTest() { write_pair_folder({}, pair_with_test_set(small_spec(), 200), pair_path()); }

  std::filesystem::path pair_path() const { return dir_.path() / "pair"; }
  std::filesystem::path run_path() const { return dir_.path() / "run"; }
  BenchmarkPair pair() const { return load_pair(pair_path().string()); }

  RunConfig config(const std::string& solver) const {
    RunConfig config{solver, pair_path().string(), 5, {}};
    if (solver == "feature-wise") config.options["marginal_samples"] = "2000";
    if (solver == "sinkhorn") config.options["rows"] = "200";
    return config;
  }

  void train(const RunConfig& config, bool resume = false) const {
    train_run({}, config, run_path(), resume);
  }

  std::string train_error(const RunConfig& config, bool resume = false) const {
    return error_of<Error>([&] { train(config, resume); });
  }
  std::string load_error() const {
    return error_of<Error>([&] { load_run({}, pair(), run_path()); });
  }

  TempDir dir_;
};

}  // namespace bridgemark::testing
