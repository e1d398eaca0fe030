#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "bridgemark/backend/placed_array.h"
#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/pair/benchmark_pair.h"

namespace bridgemark {

// How far couplings of one kind are from the truth of a pair, quickly and again and again: on the
// same first test rows and by the same draws, so that two values differ by the couplings alone. A
// coupling with a joint has the joint KL; one with steps alone the forward trajectory KL of its own
// number of steps, as an evaluation with seed 0 has it.
class TruthKl {
 public:
  static constexpr std::size_t kRows = 1000;  // test rows, or all where there are fewer

  // `like` is a coupling of the kind. Throws InvalidArgument where the pair's truth is not known,
  // or neither of the two KLs can be given.
  TruthKl(const Context& context, const BenchmarkPair& pair, const Coupling& like);

  // The name of the score (score_spec.h).
  std::string_view name() const;

  MeanEstimate of(const Coupling& coupling) const;

 private:
  // log q(x1|x0) of the rows.
  std::vector<double> log_conditional(const Coupling& coupling) const;

  Context context_;
  std::shared_ptr<const Coupling> truth_;
  bool is_joint_;
  int num_steps_;
  bool on_device_;
  backend::PlacedStates x0_, x1_;
  std::vector<double> log_truth_;  // of the joint KL
};

}  // namespace bridgemark
