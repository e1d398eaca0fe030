#include "bridgemark/backend/cuda_ops.h"
#include "bridgemark/core/error.h"

namespace bridgemark::backend::cuda {

namespace {

[[noreturn]] void throw_no_cuda() {
  throw DeviceError(
      "[device] device must be cpu in this build, got cuda; configure with --preset cuda for a "
      "build that has it");
}

}  // namespace

void require_device() { throw_no_cuda(); }
std::string device_description() { throw_no_cuda(); }
std::size_t memory_in_use() { throw_no_cuda(); }
void log_matmul(MatrixView<const double>, MatrixView<const double>, MatrixView<double>) {
  throw_no_cuda();
}
void propagate_cores(MatrixView<const double>, const Array3<double>&, Array3<double>&) {
  throw_no_cuda();
}
void propagate_cores_rank_one(double, double, const Array3<double>&, Array3<double>&) {
  throw_no_cuda();
}
void log_mixture(std::span<const double>, const Array3<double>&, StatesView, std::span<double>) {
  throw_no_cuda();
}
void bridge_step_marginals(const BridgeStep&, StatesView, Array3<double>&) { throw_no_cuda(); }
void sample_bridge_step(const BridgeStep&, StatesView, const DrawKey&, std::uint64_t,
                        MutableStatesView) {
  throw_no_cuda();
}
void log_chain(std::span<const double>, const Array3<double>&, const Array3<double>&, StatesView,
               std::span<double>) {
  throw_no_cuda();
}
void sample_product_rows(const ScaledRows&, const ScaledRows&, StatesView, StatesView,
                         const DrawKey&, std::uint64_t, MutableStatesView) {
  throw_no_cuda();
}
void sample_network_chain(const NetworkTensors<float>&, const PinnedSteps&, int, int, StatesView,
                          const DrawKey&, std::uint64_t, MutableStatesView) {
  throw_no_cuda();
}
void network_log_transition(const NetworkTensors<float>&, const ChainTables<float>&, int,
                            StatesView, Array3<double>&) {
  throw_no_cuda();
}

std::unique_ptr<PairSampler> make_pair_sampler(const RowSource&) { throw_no_cuda(); }
std::unique_ptr<CpTrainer> make_cp_trainer(CpTrainerPlan) { throw_no_cuda(); }
std::unique_ptr<NetworkTrainer> make_network_trainer(NetworkTrainerPlan) { throw_no_cuda(); }

}  // namespace bridgemark::backend::cuda
