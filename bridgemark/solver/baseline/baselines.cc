#include "bridgemark/solver/baseline/baselines.h"

#include <algorithm>
#include <utility>

#include "bridgemark/bridge/reference_bridge.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/solver/core/training_loop.h"
#include "bridgemark/solver/cp/cp_model_file.h"

namespace bridgemark {

namespace {

// A model that the pair alone determines: the file only marks that the run is complete.
void save_marker(const std::string& kind, const std::filesystem::path& path) {
  SafetensorsWriter writer;
  writer.set_metadata("kind", kind);
  writer.write(path);
}

class OracleSolver : public Solver {
 public:
  std::string name() const override { return "oracle"; }
  std::string description() const override {
    return "the truth itself, the ceiling of every table";
  }
  std::vector<OptionSpec> options() const override { return {}; }
  bool learns_from_rows() const override { return false; }

  Fitted fit(const Context& context, const FitProblem& problem, const SolverOptions&, std::uint64_t,
             const TrainingFiles&) const override {
    if (!problem.pair()) {
      throw_invalid(
          "solver",
          "oracle is the truth and must be fitted to a benchmark pair, without samples, got "
          "{}",
          problem.name());
    }
    return {problem.pair()->require_truth(context)};
  }

  void save(const Coupling&, const std::filesystem::path& path) const override {
    save_marker("truth", path);
  }
  std::shared_ptr<const Coupling> load(const Context& context, const FitProblem& problem,
                                       const std::filesystem::path& path) const override {
    SafetensorsFile::load(path);
    return fit(context, problem, SolverOptions({}), 0, {}).coupling;
  }
};

class IndependentCoupling : public Coupling {
 public:
  explicit IndependentCoupling(FitProblem problem) : problem_(std::move(problem)) {}

  std::size_t dim() const override { return problem_.dim(); }
  int num_categories() const override { return problem_.num_categories(); }
  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override {
    check_states("x0", x0, dim(), num_categories());
    const std::uint64_t seed = derive_seed(key.seed, static_cast<std::uint64_t>(key.purpose));
    const States drawn = problem_.sample_x1(context, x1.rows, seed, first_index);
    std::copy_n(drawn.data(), drawn.size(), x1.data);
  }
  std::string why_missing(Ability ability, int num_steps) const override {
    if (ability != Ability::kJoint || !problem_.data()) {
      return Coupling::why_missing(ability, num_steps);
    }
    return fmt::format(
        "the coupling puts all its mass on the {} rows of x1 it was given: any other x1 has "
        "probability 0, and the KL is infinite",
        problem_.data()->x1.states().rows());
  }

 private:
  FitProblem problem_;
};

class IndependentSolver : public Solver {
 public:
  std::string name() const override { return "independent"; }
  std::string description() const override { return "x1 from p1, whatever x0 is"; }
  std::vector<OptionSpec> options() const override { return {}; }

  Fitted fit(const Context&, const FitProblem& problem, const SolverOptions&, std::uint64_t,
             const TrainingFiles&) const override {
    return {std::make_shared<IndependentCoupling>(problem)};
  }
  void save(const Coupling&, const std::filesystem::path& path) const override {
    save_marker("independent", path);
  }
  std::shared_ptr<const Coupling> load(const Context&, const FitProblem& problem,
                                       const std::filesystem::path& path) const override {
    SafetensorsFile::load(path);
    return std::make_shared<IndependentCoupling>(problem);
  }
};

class ReferenceSolver : public CpBridgeSolver {
 public:
  std::string name() const override { return "reference"; }
  std::string description() const override { return "x1 from the reference process"; }
  std::vector<OptionSpec> options() const override { return {}; }
  bool learns_from_rows() const override { return false; }

  Fitted fit(const Context&, const FitProblem& problem, const SolverOptions&, std::uint64_t,
             const TrainingFiles&) const override {
    return {std::make_shared<CpBridge>(reference_bridge(problem.reference(), problem.dim()))};
  }
};

}  // namespace

std::unique_ptr<Solver> make_oracle() { return std::make_unique<OracleSolver>(); }
std::unique_ptr<Solver> make_independent() { return std::make_unique<IndependentSolver>(); }
std::unique_ptr<Solver> make_reference() { return std::make_unique<ReferenceSolver>(); }

}  // namespace bridgemark
