#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "bridgemark/backend/plan/bridge_step.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/math/philox.h"

// The operations that exist once per device. Each runs on the context's device. Arrays live in host
// memory, and it returns when its result is complete; but where states may lie on the device, so
// does what is made of them, in the order of the context's stream.
namespace bridgemark::backend {

// Throws DeviceError unless this build and this machine can run on the context's device.
void require_device(const Context& context);

// The machine in words, with its GPU where that is the context's device.
std::string machine_of(const Context& context);

// out[m,n] = log sum_k exp(a[m,k] + b[k,n]).
void log_matmul(const Context& context, MatrixView<const double> a, MatrixView<const double> b,
                MatrixView<double> out);

// out[d,s,k] = log sum_t exp(log_q[s,t] + log_cores[d,t,k]); cores are [D,S,K].
void propagate_cores(const Context& context, MatrixView<const double> log_q,
                     const Array3<double>& log_cores, Array3<double>& out);

// The same for Q = exp(log_identity) I + exp(log_uniform) 11^T, without a product.
void propagate_cores_rank_one(const Context& context, double log_identity, double log_uniform,
                              const Array3<double>& log_cores, Array3<double>& out);

// out[b] = log sum_k exp(log_beta[k] + sum_d log_u[d, x[b,d], k]).
void log_mixture(const Context& context, std::span<const double> log_beta,
                 const Array3<double>& log_u, StatesView x, std::span<double> out);

// out[b] = log of the sum over the paths of a hidden chain: log_start [K], log_moves [D-1,K,K],
// with the emissions log_u[d, x[b,d], :].
void log_chain(const Context& context, std::span<const double> log_start,
               const Array3<double>& log_moves, const Array3<double>& log_u, StatesView x,
               std::span<double> out);

// A step whose tables lie on the context's device, another than the CPU, and nowhere else: for
// operations there alone.
BridgeStep make_device_step(const Context& context, const StepPlan& plan);

// out[b,d,s] = log of the marginal q(x_to^d = s | x_from = x[b]) of a bridge step, normalised.
// States may lie on the device.
void bridge_step_marginals(const Context& context, const BridgeStep& step, StatesView x,
                           double* out);

// kl[b] += sum_d KL(p || q) between the marginals of two bridge steps from x[b], +inf where q has 0
// and p has not. On the CPU alone; for a device see device_scores.h.
void add_bridge_step_kl(const Context& context, const BridgeStep& p, const BridgeStep& q,
                        StatesView x, double* kl);

// out[b] = log q(x_to = to[b] | x_from = from[b]) of a bridge step, all coordinates together; for
// states on a device, where both must lie.
void bridge_step_log_probability(const Context& context, const BridgeStep& step, StatesView from,
                                 StatesView to, double* out);

// One draw of a bridge step for each row of x. Row i uses the draws of index first_index + i:
// the first picks the component, the following ones the coordinates in order. With a hidden chain
// the first D pick its path. States may lie on the device, then both do.
void sample_bridge_step(const Context& context, const BridgeStep& step, StatesView x,
                        const DrawKey& key, std::uint64_t first_index, MutableStatesView out);

// out[b,d] = s with weight left[left_rows[b,d], s] * right[right_rows[b,d], s]; row i uses the
// draws of index first_index + i in order. States may lie on the device, then all three do.
void sample_product_rows(const Context& context, const ScaledRows& left, const ScaledRows& right,
                         StatesView left_rows, StatesView right_rows, const DrawKey& key,
                         std::uint64_t first_index, MutableStatesView out);

}  // namespace bridgemark::backend
