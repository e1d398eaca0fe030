#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/core/array.h"
#include "bridgemark/math/adamw.h"
#include "bridgemark/math/philox.h"

// A CP solver's training kept on a device as a whole: parameters, moments and batches stay there,
// and an update needs nothing of the caller but its description. In a context with ranks the plan
// starts with this rank's share of the components (component_share.h), all ranks ask for the same
// updates, and each gets the losses of the whole model.
namespace bridgemark::backend {

struct CpTrainerPlan {
  CpTensors<float> start;
  std::optional<MatchingLoss> matching;  // empty: the static loss, the only one of a chain
  std::size_t batch_size = 0;
  ChainTables<float> chain;
  RowSource x0, x1;
  PinnedRows pinned;     // for a matching loss
  RowCoupling coupling;  // likewise
  double entropy = 0.0;
  AdamWSettings adamw;         // but for the rate, which comes with each update
  bool keeps_average = false;  // of the parameters, as the updates say
};

struct CpTrainingState {
  CpTensors<float> parameters, first_moment, second_moment;
  CpTensors<float> average;  // where the plan keeps one, else empty
};

// What one update's optimiser is told.
struct CpUpdate {
  double learning_rate = 0.0;
  double average_share = 0.0;  // of the parameters after it in the average; 0 leaves that alone
};

class CpTrainer {
 public:
  virtual ~CpTrainer() = default;

  // Updates first_step.., counted from 1; losses[i] is the loss before update i.
  virtual void run(std::int64_t first_step, std::span<const CpUpdate> updates,
                   std::span<double> losses) = 0;
  virtual std::int64_t updates_at_once() const = 0;  // how many a run had best be asked for

  // Loss and gradient at the present parameters for rows of the caller: (x0, x1) of the static
  // loss, (x_n, x1, n) of a matching one. batch_size rows.
  virtual double evaluate(StatesView x, StatesView x1, std::span<const std::int32_t> n,
                          CpTensors<float>& gradient) = 0;

  virtual bool has_finite_parameters() const = 0;
  // In host memory, as it is until the next call.
  virtual const CpTrainingState& state() const = 0;
  virtual void set_state(CpTrainingState state) = 0;
};

}  // namespace bridgemark::backend
