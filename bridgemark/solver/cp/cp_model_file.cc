#include "bridgemark/solver/cp/cp_model_file.h"

#include <charconv>
#include <string>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/io/safetensors.h"

namespace bridgemark {

namespace {

constexpr char kNumSteps[] = "num_steps";

int read_num_steps(const SafetensorsFile& file, const std::filesystem::path& path) {
  const auto found = file.metadata().find(kNumSteps);
  if (found == file.metadata().end()) return 0;
  const std::string& text = found->second;
  int steps = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw_file(path.string(), "metadata '{}' must be a whole number, got '{}'", kNumSteps, text);
  }
  return steps;
}

}  // namespace

void save_cp_model(const CpBridge& bridge, const std::filesystem::path& path) {
  const CpPotential& potential = bridge.potential();
  const Array3<double>& cores = potential.log_cores();
  SafetensorsWriter writer;
  writer.set_metadata("kind", "cp-bridge");
  if (bridge.own_num_steps() > 0) {
    writer.set_metadata(kNumSteps, std::to_string(bridge.own_num_steps()));
  }
  writer.add("log_beta", {potential.num_components()}, std::span(potential.log_beta()));
  writer.add("log_cores", {cores.extent(0), cores.extent(1), cores.extent(2)},
             std::span(cores.data(), cores.size()));
  writer.write(path);
}

std::shared_ptr<const CpBridge> load_cp_model(const ReferenceProcess& process, std::size_t dim,
                                              const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::load(path);
  const auto S = static_cast<std::size_t>(process.num_categories());
  if (file.shape("log_beta").size() != 1) {
    throw_file(path.string(), "tensor 'log_beta' must have one axis");
  }
  const std::size_t K = file.shape("log_beta")[0];
  file.expect_shape("log_cores", std::vector{dim, S, K});
  try {
    return std::make_shared<const CpBridge>(
        process,
        CpPotential(file.read_doubles("log_beta"),
                    Array3<double>(dim, S, K, file.read_doubles("log_cores"))),
        read_num_steps(file, path));
  } catch (const InvalidArgument& error) {
    throw_file(path.string(), "{}", error.what());
  }
}

void CpBridgeSolver::save(const Coupling& coupling, const std::filesystem::path& path) const {
  save_cp_model(dynamic_cast<const CpBridge&>(coupling), path);
}

std::shared_ptr<const Coupling> CpBridgeSolver::load(const Context&, const FitProblem& problem,
                                                     const std::filesystem::path& path) const {
  return load_cp_model(problem.reference(), problem.dim(), path);
}

}  // namespace bridgemark
