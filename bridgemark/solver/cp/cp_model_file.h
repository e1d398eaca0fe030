#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "bridgemark/backend/plan/cp_tensors.h"
#include "bridgemark/bridge/cp_bridge.h"
#include "bridgemark/core/context.h"
#include "bridgemark/core/rank_group.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/process/reference_process.h"
#include "bridgemark/solver/core/solver.h"

namespace bridgemark {

// One CP bridge among the tensors of a file whose names begin with `prefix`.
void add_cp_bridge(SafetensorsWriter& writer, const std::string& prefix, const Bridge& bridge);
std::shared_ptr<const Bridge> read_cp_bridge(const SafetensorsFile& file, const std::string& prefix,
                                             const ReferenceProcess& process, std::size_t dim);

// The parameters of CP bridges as safetensors: log_beta [K], log_cores [D,S,K], and num_steps in
// the metadata where one was fitted as a chain; what else there is says bridge_file.h.
void save_cp_model(const Coupling& coupling, const std::filesystem::path& path);

// The file of one bridge from ranks that each have a share of the components, in the order of the
// ranks. One row of the cores after the other passes through the first rank, which writes it.
// Throws InvalidArgument on all ranks where the parameters are no law.
void save_shared_cp_model(RankGroup& ranks, const backend::CpTensors<float>& share,
                          const std::filesystem::path& path);

// Throws FileError where the file does not fit the problem.
std::shared_ptr<const Coupling> load_cp_model(const Context& context, const FitProblem& problem,
                                              const std::filesystem::path& path);

// A solver whose coupling is a CP bridge over the pair's reference: how it is kept.
class CpBridgeSolver : public Solver {
 public:
  void save(const Coupling& coupling, const std::filesystem::path& path) const override;
  std::shared_ptr<const Coupling> load(const Context& context, const FitProblem& problem,
                                       const std::filesystem::path& path) const override;
};

}  // namespace bridgemark
