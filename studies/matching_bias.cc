#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/backend/plan/row_source.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/process/chain_tables.h"
#include "bridgemark/process/pinned_reference.h"

// Where the loss of DLightSB-M has its minimum. It compares transitions coordinate by coordinate,
// so its minimum is the bridge only for pairs (x0, x1) that are the bridge's own. Here the cores
// are the truth's and only the weights of its components move, by Newton's method from the truth:
// what is left of the exact conditional shape score is the loss's fault, and the noise of the rows.
namespace bridgemark {
namespace {

using Weights = Eigen::VectorXd;

// The loss of all steps over fixed rows as a function of the components' logarithmic weights.
class MatchingLossOfWeights {
 public:
  MatchingLossOfWeights(const BenchmarkPair& pair, int num_steps, PairedStates pairs)
      : pairs_(std::move(pairs)),
        tables_(make_chain_tables<double>({}, ReferenceChain(pair.reference(), num_steps))),
        parameters_(pair.dim(), static_cast<std::size_t>(pair.num_categories()),
                    pair.cp_bridge().potential().num_components()),
        gradient_(parameters_) {
    const Array3<double>& cores = pair.cp_bridge().potential().log_cores();
    std::copy_n(cores.data(), cores.size(), parameters_.log_cores.begin());
    const backend::PinnedRows pinned =
        pinned_rows({}, ReferenceChain(pair.reference(), num_steps), 1);
    const std::size_t rows = pairs_.x0.rows();
    for (int n = 0; n < num_steps; ++n) {
      const std::vector<std::int32_t> steps(rows, n);
      points_.emplace_back(rows, pair.dim());
      backend::of({}).draw_points({}, pinned, pairs_.x0, pairs_.x1, steps,
                                  static_cast<std::uint64_t>(n) * rows, points_.back());
    }
  }

  Weights gradient(const Weights& log_beta) {
    std::copy_n(log_beta.data(), log_beta.size(), parameters_.log_beta.begin());
    Weights sum = Weights::Zero(log_beta.size());
    for (std::size_t n = 0; n < points_.size(); ++n) {
      const std::vector<std::int32_t> steps(pairs_.x0.rows(), static_cast<std::int32_t>(n));
      backend::of({}).matching_loss({}, parameters_, tables_, backend::MatchingLoss::kKl,
                                    points_[n], pairs_.x1, steps, gradient_, workspace_);
      sum += Eigen::Map<const Weights>(gradient_.log_beta.data(), log_beta.size());
    }
    return sum;
  }

  // One step of Newton's method; the curvature by differences.
  Weights improve(const Weights& log_beta) {
    constexpr double kStep = 1e-4;
    const Weights slope = gradient(log_beta);
    Eigen::MatrixXd curvature(log_beta.size(), log_beta.size());
    for (Eigen::Index k = 0; k < log_beta.size(); ++k) {
      Weights moved = log_beta;
      moved[k] += kStep;
      curvature.col(k) = (gradient(moved) - slope) / kStep;
    }
    // A common factor of all weights changes nothing: the smallest step that does.
    return log_beta - curvature.completeOrthogonalDecomposition().solve(slope);
  }

 private:
  PairedStates pairs_;
  std::vector<States> points_;  // by step
  backend::ChainTables<double> tables_;
  backend::CpTensors<double> parameters_, gradient_;
  backend::CpWorkspace<double> workspace_;
};

double exact_shape(const BenchmarkPair& pair, const Weights& log_beta) {
  const States x0 = pair.sample_x0({}, 1000, 1);
  const CpBridge model(pair.reference(), CpPotential({log_beta.begin(), log_beta.end()},
                                                     pair.cp_bridge().potential().log_cores()));
  Array3<double> truth, answer;
  pair.bridge().log_marginals({}, x0, truth);
  model.log_marginals({}, x0, answer);
  double difference = 0.0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    difference += std::abs(std::exp(truth.data()[i]) - std::exp(answer.data()[i]));
  }
  return 1.0 - 0.5 * difference / static_cast<double>(x0.size());
}

PairedStates draw_pairs(const BenchmarkPair& pair, const std::string& coupling, std::size_t rows) {
  constexpr std::uint64_t kSeed = 2;
  if (coupling == "truth") return pair.sample_joint({}, rows, kSeed);
  PairedStates drawn{pair.sample_x0({}, rows, kSeed), pair.sample_x1({}, rows, kSeed)};
  if (coupling == "minibatch") {
    const ReferenceProcess process = pair.reference();
    backend::of({}).couple_rows(
        {},
        {process.log_power({}, process.total_steps()).matrix(), {kSeed, DrawPurpose::kRowCoupling}},
        drawn.x0, 0, drawn.x1);
  }
  return drawn;
}

void study(const std::string& name, int num_steps, std::size_t rows) {
  const BenchmarkPair pair = load_pair(name);
  const std::vector<double>& truth = pair.cp_bridge().potential().log_beta();
  for (const char* coupling : {"independent", "minibatch", "truth"}) {
    MatchingLossOfWeights loss(pair, num_steps, draw_pairs(pair, coupling, rows));
    Weights log_beta = Eigen::Map<const Weights>(truth.data(), static_cast<long>(truth.size()));
    for (int i = 0; i < 2; ++i) log_beta = loss.improve(log_beta);
    fmt::print("| {} | {} | {} | {:.4f} |\n", name, num_steps, coupling,
               exact_shape(pair, log_beta));
  }
}

}  // namespace
}  // namespace bridgemark

int main(int argc, char** argv) {
  CLI::App app("Where the loss of DLightSB-M has its minimum, by the pairs it is given");
  std::vector<std::string> pairs;
  int num_steps = 64;
  std::size_t rows = 4096;
  app.add_option("pairs", pairs, "Pairs of one direction")->required();
  app.add_option("--num-steps", num_steps, "Steps of the chain")->capture_default_str();
  app.add_option("--rows", rows, "Rows at every step")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  fmt::print("| pair | steps | pairs | exact shape at the minimum |\n| --- | --- | --- | --- |\n");
  for (const std::string& name : pairs) bridgemark::study(name, num_steps, rows);
}
