#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/pair/benchmark_pair.h"

// What a report's figures ask every solver of a pair, so that answers can be kept for them.
namespace bridgemark {

inline constexpr std::uint64_t kFigureSeed = 1;
inline constexpr std::size_t kFigureStarts = 4;  // of trajectories
inline constexpr std::size_t kPathsEach = 4;
inline constexpr std::size_t kFigureConditionals = 3;  // inputs whose q(. | x0) is shown
inline constexpr std::size_t kFigureDraws = 150;       // of each of them

// Two numbers for a state: itself, or its place on the first two principal components of a cloud.
class Projection {
 public:
  explicit Projection(StatesView cloud);

  std::array<double, 2> place(const std::int32_t* state) const;
  bool is_whole() const { return dim_ <= 2; }
  // Shares of the cloud's variance that its axes have.
  const std::array<double, 2>& explained() const { return explained_; }

 private:
  std::size_t dim_;
  std::vector<double> mean_;
  std::array<std::vector<double>, 2> axes_;
  std::array<double, 2> explained_ = {1.0, 1.0};
};

// Conditional inputs that lie far from each other in the picture of the test set's x1, so that what
// starts there can be told apart.
struct FigureInputs {
  States starts;                              // [kFigureStarts, D]
  States conditional;                         // [kFigureConditionals, D]
  std::vector<std::size_t> conditional_rows;  // among the conditional inputs
};
FigureInputs figure_inputs(const PairedStates& test, const Projection& projection);

// Paths of a coupling with transitions from each of the starts, kPathsEach after each other:
// [paths, num_steps + 1, D].
Array3<std::int32_t> figure_paths(const Context& context, const Coupling& coupling, int num_steps,
                                  StatesView starts);

// Each row `times` times, one after the other.
States repeat_rows(StatesView rows, std::size_t times);

}  // namespace bridgemark
