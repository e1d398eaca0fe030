#include "bridgemark/solver/core/log_fields.h"

#include <algorithm>

#include "bridgemark/metric/score_spec.h"

namespace bridgemark {

namespace {

constexpr LogField kLogFields[] = {
    {"update", "updates", "the last update before the line, counted from 1 over all stages"},
    {"loss", "of the solver's loss", "mean over the updates since the line before"},
    {"seconds", "s",
     "of training up to here, over all parts of a run that was resumed; without validation, "
     "callbacks and the writing of lines"},
    {"components", "", "components of the bridge in training, on rows that end"},
    {"states", "", "hidden states of the chain bridge in training, on rows that end"},
    {"held_out", "nats",
     "held-out objective of the bridge at the last look: higher is better, and only differences "
     "mean something"},
    {"held_out_loss", "of the solver's loss",
     "loss of the networks in training on pairs of rows held out, at the last look"},
    {"held_out_error", "as what it is of", "standard error of either"},
    {"shrinkage", "of the cores' noise", "of the cores at the last look"},
    {"smoothing", "steps", "of the reference that smooth the cores at the last look"},
    {"refit", "", "true in a training on all rows, which follows that on rows with some held out"},
    {"imf_iteration", "", "D-IMF iteration of CSBM, counted from 1"},
    {"direction", "", "of the network in training: `forward` or `backward`"},
    {"way", "", "which way the bridge in training goes, with `direction` other than forward"},
    {"start", "",
     "what DLightSB-chain trains: the mixture, or the chain that starts on it or on samples"},
    {"width", "units", "of the hidden layers, while networks are chosen"},
    {"weight_decay", "", "of AdamW, while networks are chosen"},
    {kJointKl, "nats",
     "validation of a bridge: mean over the first 1000 test rows of log q*(x1\\|x0) − log "
     "q(x1\\|x0), null where it is infinite or was interrupted"},
    {"joint_kl_error", "nats", "its standard error over these rows"},
    {kForwardTrajectoryKl, "nats",
     "validation of a solver that has steps alone: KL(truth \\|\\| solver) summed over the steps "
     "of "
     "its chain, over trajectories from the first 1000 test rows"},
    {"forward_trajectory_kl_error", "nats", "its standard error over these rows"},
    {"event", "",
     "`fitted`, in the one line of a solver that does not train; `seconds` is its fit"},
};

}  // namespace

std::span<const LogField> log_fields() { return kLogFields; }

const LogField* find_log_field(std::string_view key) {
  const auto found = std::ranges::find(kLogFields, key, &LogField::key);
  return found == std::ranges::end(kLogFields) ? nullptr : found;
}

}  // namespace bridgemark
