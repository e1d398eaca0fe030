#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/io/sha256.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/submission/check_submission.h"
#include "bridgemark/submission/score_destination.h"
#include "tests/io/io_testing.h"
#include "tests/support/temp_dir.h"

namespace bridgemark::testing {

inline constexpr char kBoardPair[] = "d2-gaussian-0.02-spread";
inline constexpr char kBoardAnswers[] = "d2-gaussian-0.02-spread.seed0";

// Leaves every state as it is; says of a test row that it has probability exp(log_probability), and
// of single coordinates what `marginals` says.
class StayPut : public Coupling {
 public:
  enum class Marginals { kNone, kTrue, kUniform };

  explicit StayPut(double log_probability = std::nan(""), Marginals marginals = Marginals::kNone)
      : log_probability_(log_probability), marginals_(marginals) {}

  std::size_t dim() const override { return 2; }
  int num_categories() const override { return 50; }
  void sample(const Context&, StatesView x0, const DrawKey&, std::uint64_t,
              MutableStatesView x1) const override {
    std::copy_n(x0.data, x0.size(), x1.data);
  }
  bool has_joint() const override { return !std::isnan(log_probability_); }
  void log_conditional(const Context&, StatesView, StatesView,
                       std::span<double> out) const override {
    std::ranges::fill(out, log_probability_);
  }
  bool has_marginals() const override { return marginals_ != Marginals::kNone; }
  void write_log_marginals(const Context&, StatesView x0, MatrixView<double> out) const override {
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    const bool uniform = marginals_ == Marginals::kUniform;
    std::fill_n(out.data, out.size(), uniform ? -std::log(50.0) : kNever);
    for (std::size_t i = 0; !uniform && i < x0.rows; ++i) {
      for (std::size_t d = 0; d < 2; ++d)
        out.row(i)[50 * static_cast<std::int32_t>(d) + x0(i, d)] = 0.0;
    }
  }

 private:
  double log_probability_;
  Marginals marginals_;
};

inline void replace_in_file(const std::filesystem::path& path, const std::string& from,
                            const std::string& to) {
  std::string text = slurp(path);
  const std::size_t at = text.find(from);
  ASSERT_NE(at, text.npos) << path << " has no " << from;
  text.replace(at, from.size(), to);
  std::ofstream(path, std::ios::binary) << text;
}

// What a submission that a run made leaves blank.
inline void fill_authors(const std::filesystem::path& folder) {
  replace_in_file(folder / kSolverFile, "authors = [\"\"]",
                  "authors = [\"A. Author\", \"B. Author\"]");
}

// What only the authors of a submission know.
inline void fill_blanks(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kSolverFile;
  fill_authors(folder);
  replace_in_file(path, "url = \"\"", "url = \"https://example.org/mine\"");
  replace_in_file(path, "revision = \"\"", "revision = \"4f2c1d0\"");
  replace_in_file(path, "object = \"\"", "object = \"mine.solver:Mine\"");
  replace_in_file(path, "description = \"\"", "description = \"Stays where it is.\"");
  replace_in_file(path, "date = \"\"", "date = 2026-11-16");
  replace_in_file(path, "command = \"\"", "command = \"python -m mine PAIR\"");
  replace_in_file(path, "hardware = \"\"", "hardware = \"two cores\"");
}

inline void make_submission(const std::filesystem::path& folder, const std::string& name = "Mine",
                            const Coupling& coupling = StayPut(), std::uint64_t training_seed = 0) {
  evaluate_to({}, load_pair(kBoardPair), coupling, {},
              {.submission = folder,
               .label = name,
               .training_seed = training_seed,
               .training_seconds = 1.5});
}

// One set of answers, all blanks filled.
inline void make_whole_submission(const std::filesystem::path& folder,
                                  const std::string& name = "Mine",
                                  const Coupling& coupling = StayPut()) {
  make_submission(folder, name, coupling);
  fill_blanks(folder);
}

// Makes solver.toml say what a file is now: what somebody who tampers with answers would do.
inline void renew_hash(const std::filesystem::path& folder, const std::string& file) {
  const std::string text = slurp(folder / kSolverFile), key = "\"" + file + "\" = \"";
  const std::size_t at = text.find(key);
  ASSERT_NE(at, text.npos);
  replace_in_file(folder / kSolverFile, text.substr(at, key.size() + 64),
                  key + file_sha256(folder / kBoardAnswers / file));
}

}  // namespace bridgemark::testing
