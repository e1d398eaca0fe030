#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "bridgemark/metric/evaluation.h"
#include "tests/support/small_pair.h"

// Small evaluations, and a coupling that an outside solver might bring.
namespace bridgemark::testing {

inline constexpr std::size_t kRows = 600;  // 5 conditional inputs

inline EvaluationOptions quick_options() {
  EvaluationOptions options;
  options.num_steps = 4;
  options.num_trajectories = 100;
  options.particles = 8;
  options.max_seconds = std::numeric_limits<double>::infinity();
  return options;
}

inline std::shared_ptr<const Coupling> fit(const char* solver, const BenchmarkPair& pair) {
  return fit_solver(solver, pair).coupling;
}

// A coupling stripped of everything but its draws.
class OnlySamples : public Coupling {
 public:
  explicit OnlySamples(std::shared_ptr<const Coupling> inner) : inner_(std::move(inner)) {}
  std::size_t dim() const override { return inner_->dim(); }
  int num_categories() const override { return inner_->num_categories(); }
  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override {
    inner_->sample(context, x0, key, first_index, x1);
  }

 private:
  std::shared_ptr<const Coupling> inner_;
};

}  // namespace bridgemark::testing
