#pragma once

// The library in one include. What is reached from here is what `cmake --install` installs and
// other programs may rely on; it names no JSON, and of the kernels no more than the names of types.

// Device, threads, progress; errors; matrices of states; the version
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/labels.h"
#include "bridgemark/core/rank_group.h"
#include "bridgemark/core/tree_shape.h"
#include "bridgemark/core/version.h"

// Draws as a function of seed, purpose and index, for a coupling of one's own
#include "bridgemark/math/philox.h"

// Reference processes, bridges and couplings
#include "bridgemark/bridge/bridge.h"
#include "bridgemark/bridge/chain_bridge.h"
#include "bridgemark/bridge/chain_potential.h"
#include "bridgemark/bridge/column_bridge.h"
#include "bridgemark/bridge/coupling.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/bridge/cp_potential.h"
#include "bridgemark/bridge/label_couplings.h"
#include "bridgemark/bridge/reversed_bridge.h"
#include "bridgemark/bridge/tree_bridge.h"
#include "bridgemark/bridge/tree_potential.h"
#include "bridgemark/process/column_reference.h"
#include "bridgemark/process/reference_process.h"

// Benchmark pairs: presets, one's own, and their folders; their training sets; own data to fit to
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/fit_problem.h"
#include "bridgemark/pair/label_problems.h"
#include "bridgemark/pair/pair_family.h"
#include "bridgemark/pair/pair_folder.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/pair/source_distribution.h"
#include "bridgemark/pair/training_set.h"

// The protocol of the benchmark and the scores it is made of
#include "bridgemark/metric/c2st.h"
#include "bridgemark/metric/evaluation.h"
#include "bridgemark/metric/own_data/compare_by_label.h"
#include "bridgemark/metric/own_data/compare_on.h"
#include "bridgemark/metric/particle_kl.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/metric/sample_scores.h"
#include "bridgemark/metric/trajectory_kl.h"

// Solvers and the folders of their runs
#include "bridgemark/solver/core/options.h"
#include "bridgemark/solver/core/solver.h"
#include "bridgemark/solver/core/training_files.h"
#include "bridgemark/solver/core/training_log.h"
#include "bridgemark/solver/registry.h"
#include "bridgemark/solver/run/labelled_run.h"
#include "bridgemark/solver/run/run.h"
