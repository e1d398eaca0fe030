#pragma once

#include <filesystem>

#include "bridgemark/core/context.h"
#include "bridgemark/experiment/experiment.h"
#include "bridgemark/experiment/grid/grid_runner.h"
#include "bridgemark/experiment/grid/slurm_array.h"

namespace bridgemark {

// Submissions of a run whose tasks end without a result or a failure of its own: killed ones, or
// those on a node that died.
inline constexpr int kSlurmAttempts = 3;

// Makes the grid by Slurm and waits for it: job arrays (slurm_array.h) of at most MaxArraySize
// tasks, each of which is a worker in the grid's folder, so that a task that Slurm starts twice
// makes nothing twice. Runs whose task is gone without a result are submitted again. With `resume`
// tasks that are still in the queue are waited for and only the rest is submitted. Of the context
// the device, the threads of a task and stop are used: the device need not be here. Throws
// Interrupted once the context says stop; the jobs go on.
GridSummary run_on_slurm(const Context& context, const Experiment& experiment,
                         const std::filesystem::path& folder, const SlurmOptions& options);

// Makes the runs of one task by the array's list, as one of many workers.
GridSummary run_task(const Context& context, const std::filesystem::path& folder,
                     const std::filesystem::path& list, int task, int runs_per_task,
                     const WorkerOptions& options);

}  // namespace bridgemark
