#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/pair/fit_problem.h"

namespace bridgemark {

// The options that name a file of states to train on.
inline constexpr const char* kDataOptions[] = {"x0_data", "x1_data"};

// Endless unpaired rows of both ends: drawn from the problem, or with replacement from fixed data
// sets. Row i of a seed is the same whatever the batches.
class TrainingData {
 public:
  // Empty paths draw from the problem; else integer .npy files [n,D] of states.
  TrainingData(const FitProblem& problem, const std::string& x0_file, const std::string& x1_file,
               std::uint64_t seed);

  // Rows first_index.. in host memory, drawn by a CPU context.
  States x0(const Context& context, std::size_t count, std::uint64_t first_index) const;
  States x1(const Context& context, std::size_t count, std::uint64_t first_index) const;

  // The same rows, described for a trainer that draws them itself.
  backend::RowSource x0_source(const Context& context) const;
  backend::RowSource x1_source(const Context& context) const;

  // All rows of an end where they are finite, those of a file or of data; else null.
  const States* x0_set() const;
  const States* x1_set() const;

 private:
  FitProblem problem_;
  std::optional<SourceDistribution> x0_set_;
  std::optional<SourceDistribution> x1_set_;
  std::uint64_t seed_;
};

}  // namespace bridgemark
