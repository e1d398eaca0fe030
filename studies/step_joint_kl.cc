// The joint KL, by particles, of a bridge as a chain solver: its own transitions, each coordinate
// drawn on its own.
//
//   step_joint_kl PAIR --steps 16 [--model PAIR] [--noise 0.01] [--rows 2000] [--particles 64]
//
// The steps are those of the pair's truth, or of another pair's by --model; with --noise E each
// coordinate of a step is drawn uniformly with probability E. Prints one line of JSON with three
// KLs of the solver in nats, [value, standard error] each: the joint KL by particles, that of whole
// paths (one particle), and the forward trajectory KL.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/core/clock.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/core/version.h"
#include "bridgemark/math/hidden_chain.h"
#include "bridgemark/math/log_domain.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/particle_kl.h"
#include "bridgemark/metric/trajectory_kl.h"
#include "bridgemark/pair/pair_spec.h"

namespace bridgemark {
namespace {

// A bridge whose transitions are drawn coordinate by coordinate, with noise.
class FactorisedSteps : public Coupling {
 public:
  FactorisedSteps(const Bridge& bridge, double noise) : bridge_(bridge), noise_(noise) {}

  std::size_t dim() const override { return bridge_.dim(); }
  int num_categories() const override { return bridge_.num_categories(); }
  bool has_transitions(int num_steps) const override { return bridge_.has_transitions(num_steps); }

  void sample(const Context&, StatesView, const DrawKey&, std::uint64_t,
              MutableStatesView) const override {
    throw_invalid("step_joint_kl", "nothing here draws from the solver");
  }

  void write_log_transition_marginals(const Context& context, int num_steps, int n, StatesView x,
                                      MatrixView<double> out) const override {
    bridge_.write_log_transition_marginals(context, num_steps, n, x, out);
    for (std::size_t i = 0; i < out.size(); ++i) out.data[i] = with_noise(out.data[i]);
  }

  // The product of the marginals at `to` alone: a tenth of the time of writing all of them.
  void log_transition(const Context& context, int num_steps, int n, StatesView from, StatesView to,
                      std::span<double> out) const override {
    const ReferenceChain chain(bridge_.process(), num_steps);
    const SharedMatrix log_q = chain.log_onestep(context);
    const Array3<double> before = bridge_.propagated_cores(context, chain, n),
                         after = bridge_.propagated_cores(context, chain, n + 1);
    const std::size_t D = dim(), K = bridge_.num_components();
    parallel_blocks(context, from.rows, 256, [&](std::size_t first, std::size_t last) {
      std::vector<double> others(D * K), scratch(D * K);
      for (std::size_t b = first; b < last; ++b) {
        weigh_others(before, from.row(b), others, scratch);
        out[b] = 0.0;
        for (std::size_t d = 0; d < D; ++d) {
          const auto at = static_cast<std::size_t>(from(b, d)),
                     there = static_cast<std::size_t>(to(b, d));
          const double* weights = others.data() + d * K;
          out[b] += with_noise(log_q(at, there) +
                               log_sum_of_sums(weights, 1, after.row(d, there), nullptr, K) -
                               log_sum_of_sums(weights, 1, before.row(d, at), nullptr, K));
        }
      }
    });
  }

 private:
  double with_noise(double log_probability) const {
    if (noise_ == 0.0) return log_probability;
    return std::log((1.0 - noise_) * std::exp(log_probability) + noise_ / num_categories());
  }

  // others[d,k] = log of the weight of component k at d by all other coordinates of x.
  void weigh_others(const Array3<double>& log_cores, const std::int32_t* x,
                    std::vector<double>& others, std::vector<double>& scratch) const {
    const std::size_t D = dim(), K = bridge_.num_components();
    const std::span<const double> log_weights = bridge_.log_weights();
    if (bridge_.log_moves().size() > 0) {
      log_other_paths(log_hidden_chain(D, log_cores.extent(1), K, log_weights.data(),
                                       bridge_.log_moves().data(), log_cores.data()),
                      x, others.data(), scratch.data());
      return;
    }
    std::copy(log_weights.begin(), log_weights.end(), scratch.begin());
    for (std::size_t d = 0; d < D; ++d) {
      const double* core = log_cores.row(d, static_cast<std::size_t>(x[d]));
      for (std::size_t k = 0; k < K; ++k) scratch[k] += core[k];
    }
    for (std::size_t d = 0; d < D; ++d) {
      const double* core = log_cores.row(d, static_cast<std::size_t>(x[d]));
      for (std::size_t k = 0; k < K; ++k) others[d * K + k] = scratch[k] - core[k];
    }
  }

  const Bridge& bridge_;
  double noise_;
};

// Both ways to a step's probability must agree.
void check_steps(const FactorisedSteps& steps, int num_steps, StatesView x0, StatesView x1) {
  std::vector<double> fast(x0.rows), plain(x0.rows);
  for (const int n : {0, num_steps / 2, num_steps - 1}) {
    steps.log_transition({}, num_steps, n, x0, x1, fast);
    steps.Coupling::log_transition({}, num_steps, n, x0, x1, plain);
    for (std::size_t i = 0; i < x0.rows; ++i) {
      if (std::abs(fast[i] - plain[i]) > 1e-8 * (1.0 + std::abs(plain[i]))) {
        throw_invalid("step_joint_kl", "step {} has log-probabilities {} and {}", n, fast[i],
                      plain[i]);
      }
    }
  }
}

nlohmann::json estimate_json(const MeanEstimate& estimate) {
  return {estimate.mean, estimate.standard_error};  // null where infinite
}

struct Request {
  std::string pair, model;
  double noise = 0.0;
  std::size_t rows = 2000;
  ParticleOptions particles = {16, 64, 5};
};

nlohmann::json run(const Request& request) {
  const Clock::time_point started = Clock::now();
  const BenchmarkPair pair = load_pair(request.pair);
  const BenchmarkPair model = request.model.empty() ? pair : load_pair(request.model);
  const FactorisedSteps steps(model.bridge(), request.noise);
  const PairedStates test = pair.test_set({});
  const std::size_t rows = std::min(request.rows, test.x0.rows());
  const ParticleRows used{test.x0.view().slice(0, rows), test.x1.view().slice(0, rows), 0, {}};
  const int num_steps = request.particles.num_steps;
  check_steps(steps, num_steps, used.x0.slice(0, 20), used.x1.slice(0, 20));
  const auto kls = [&](std::size_t particles) {
    const ParticleOptions options{num_steps, particles, request.particles.seed};
    return particle_kls({}, pair.reference(), pair.bridge(), steps, options, used);
  };
  const ParticleKls joint = kls(request.particles.particles), path = kls(1);
  const std::size_t trajectories = std::min<std::size_t>(rows, 1000);
  return {{"num_steps", num_steps},
          {"rows", rows},
          {"particles", request.particles.particles},
          {"joint_kl", estimate_json(estimate_mean(joint.all))},
          {"path_kl", estimate_json(estimate_mean(path.all))},
          {"trajectory_kl",
           estimate_json(trajectory_kl({}, pair.bridge(), steps, num_steps,
                                       used.x0.slice(0, trajectories), request.particles.seed))},
          {"half_particles_change", estimate_mean(joint.half).mean - estimate_mean(joint.all).mean},
          {"seconds", seconds_since(started)},
          {"version", kVersion}};
}

}  // namespace
}  // namespace bridgemark

int main(int argc, char** argv) {
  CLI::App app("The joint KL of a bridge whose steps are drawn coordinate by coordinate");
  bridgemark::Request request;
  app.add_option("pair", request.pair)->required();
  app.add_option("--steps", request.particles.num_steps, "Of the chain")->required();
  app.add_option("--model", request.model, "The pair whose steps they are");
  app.add_option("--noise", request.noise, "Probability of a uniform draw");
  app.add_option("--rows", request.rows, "Test rows, the first ones");
  app.add_option("--particles", request.particles.particles, "For each row");
  app.add_option("--seed", request.particles.seed, "Of the particles");
  CLI11_PARSE(app, argc, argv);
  try {
    std::puts(bridgemark::run(request).dump().c_str());
  } catch (const bridgemark::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
