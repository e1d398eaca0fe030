#pragma once

#include <cstdint>
#include <vector>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/process/reference_process.h"

// What a sampler's paths cost against a reference process, and how far they are from a bridge's.
namespace bridgemark {

// Paths of a chain from given x0.
struct ChainPaths {
  // Of each path: the sum over its steps of KL(step || reference's step), exact given the path. Its
  // mean is the KL of the chain's paths from the reference's.
  std::vector<double> reference_kl;
  States ends;  // x1 of each path
};

// Whether chain_paths() can be: the coupling is a chain whose steps factorise, on a grid that the
// process has.
bool has_chain_paths(const Coupling& coupling, const ReferenceProcess& process);

// Of the coupling's own number of steps. Step n of row i is drawn by (seed, kTransition, n) at i.
ChainPaths chain_paths(const Context& context, const Coupling& coupling,
                       const ReferenceProcess& process, StatesView x0, std::uint64_t seed);

// log q(x1|x0) - log q_ref(x1|x0) for each row of draws x1 ~ q(.|x0) of a coupling with a joint:
// the mean is its KL from the reference, of whole paths where their inside is pinned, as a
// bridge's is. Of a bridge it is log v(x1) - log c(x0).
std::vector<double> joint_reference_kl(const Context& context, const Coupling& coupling,
                                       const ReferenceProcess& process, StatesView x0,
                                       StatesView x1);

// For each path of a chain q from x0: reference_kl - log v(x1) + log c(x0). The mean is G(q, v),
// the KL of the chain's paths from the bridge's; +inf where the bridge rules an end out.
std::vector<double> bridge_distances(const Context& context, const ChainPaths& paths,
                                     const Bridge& bridge, StatesView x0);

}  // namespace bridgemark
