#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/solver/core/training_files.h"
#include "bridgemark/solver/core/training_log.h"

namespace bridgemark {

// A part of a run with a name of its own: its last update, and what the log's lines say about it.
struct TrainingStage {
  std::string name;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  nlohmann::json log = nlohmann::json::object();
};

// What a trained solver hands to the loop: its updates, and its whole state. An update is
// a function of the state and its number alone, so a run that was stopped and resumed ends in the
// same parameters as one that was not.
class Trainable {
 public:
  virtual ~Trainable() = default;

  // Updates first.., counted from 1, each with the loss before it. A model that lives on a device
  // makes many in one go: the loop asks for at most updates_at_once().
  virtual void updates(std::int64_t first, std::span<double> losses) = 0;
  virtual std::int64_t updates_at_once() const { return 1; }

  // Whether the training is at its end before all updates of the plan: one that looks at rows held
  // out stops when nothing is gained any more.
  virtual bool finished() const { return false; }

  // The stage of an update. The log's intervals end where a stage ends, and the progress shows it.
  virtual TrainingStage stage(std::int64_t) const { return {}; }

  // Whether the updates made last ended a stage before the last update that it told.
  virtual bool ended_stage() const { return false; }

  // Asked now and then, so it should take little time.
  virtual bool has_finite_parameters() const;

  // The state as tensors, or this rank's share of it; what is added must stay alive until the file
  // is written.
  virtual void save_state(SafetensorsWriter& writer) const = 0;
  virtual void load_state(const SafetensorsFile& file) = 0;

  // The state, or this rank's share of it, from the shares of any number of ranks in their order.
  virtual void load_shards(std::span<const SafetensorsFile> shards);
};

struct TrainingPlan {
  std::string name;  // shown beside the progress
  std::int64_t updates = 0;
  double checkpoint_seconds = 30.0;
  std::int64_t log_every = 100;
  // What a line of the log says of the model against the truth, at every multiple of this number
  // of updates and at the end; 0: never.
  std::int64_t validate_every = 0;
  std::function<nlohmann::json()> validate = {};
};

struct TrainingSummary {
  std::int64_t updates = 0;
  std::int64_t resumed_from = 0;
  double last_loss = 0.0;             // mean over the last log interval
  double seconds = 0.0;               // of training, over all its parts
  std::vector<LogLine> history = {};  // what the log has, also where none is kept
};

// A learning rate that falls to 0 along a cosine, at the share `done` of its way, 0 to 1.
double cosine_rate(double rate, double done);

// A loss or a parameter is no longer finite; the message says where and which checkpoint is left.
class Diverged : public Error {
 public:
  using Error::Error;
};

// Runs the updates that are left, or those until the model has finished. Writes a checkpoint every
// checkpoint_seconds, at the end, and when the context says stop: then it throws Interrupted.
// Throws Diverged where the loss of an update is not finite, or where a parameter is not at a log
// interval or at a checkpoint, and leaves the last checkpoint as it was. Throws FileError for a
// checkpoint whose progress cannot be or whose parameters are not finite. Ranks of the context do
// all of this together, at the same updates: what one of them is told or finds counts for all.
TrainingSummary run_training(const Context& context, const TrainingPlan& plan,
                             const TrainingFiles& files, Trainable& model);

}  // namespace bridgemark
