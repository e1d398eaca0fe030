#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"

// The joint KL of a coupling that has steps m_n(x_{n+1} | x_n) but no joint. Its q(x_N | x_0) sums
// over all paths between the ends. Paths of the reference pinned to the ends of a row are the
// truth's own paths given these ends, so with the truth's joint steps q*_n
//   q(x_N | x_0) / q*(x_N | x_0) = E over pinned paths of prod_n m_n / q*_n.
// A mean over particles in place of the expectation has no bias, so minus its logarithm is too
// large in the mean: an upper bound of the KL. With one particle it is the KL of whole paths; with
// more it falls to the joint KL.
namespace bridgemark {

// How the particles of a row are drawn.
struct ParticleOptions {
  int num_steps = 0;          // the grid of times that a path takes
  std::size_t particles = 1;  // for each row
  std::uint64_t seed = 0;
};

// Rows (x0, x1) of the truth, which lie on the host or on the context's device.
struct ParticleRows {
  StatesView x0, x1;
  std::uint64_t first_row = 0;  // the number of the first one: row i has draws of its own
  // log q*(x1|x0) of the rows, where the truth has no joint transitions; else not looked at.
  std::span<const double> log_truth = {};
};

// For each row an estimate of log q*(x1|x0) - log q(x1|x0), +inf where every particle has weight 0.
struct ParticleKls {
  std::vector<double> all;   // by all particles
  std::vector<double> half;  // the mean of both halves' own estimates: never below `all`
};

// The two halves of the particles are resampled apart from each other, so that what half as many
// would have given is known without a pass of its own. A half is resampled (systematically) after
// a step that leaves its effective size below half its number; the weights are m / q*, never
// m / pinned, whose ratios cancel only at the end of a path. Where the truth has no joint
// transitions, whole paths are weighed by m / pinned, without resampling.
//
// In step n, particle p of row i takes the draws of (seed, kParticles, 2 n) at index
// i * particles + p, so that no result depends on threads, blocks or the rows beside it. All sums
// are in the log domain, in float64.
ParticleKls particle_kls(const Context& context, const ReferenceProcess& process,
                         const Coupling& truth, const Coupling& coupling,
                         const ParticleOptions& options, const ParticleRows& rows);

}  // namespace bridgemark
