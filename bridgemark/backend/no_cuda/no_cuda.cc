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
BridgeStep make_device_step(const StepPlan&) { throw_no_cuda(); }
void bridge_step_marginals(const BridgeStep&, StatesView, double*, void*) { throw_no_cuda(); }
void bridge_step_log_probability(const BridgeStep&, StatesView, StatesView, double*, void*) {
  throw_no_cuda();
}
void sample_bridge_step(const BridgeStep&, StatesView, const DrawKey&, std::uint64_t,
                        MutableStatesView, void*) {
  throw_no_cuda();
}
void log_chain(std::span<const double>, const Array3<double>&, const Array3<double>&, StatesView,
               std::span<double>) {
  throw_no_cuda();
}
void sample_product_rows(const ScaledRows&, const ScaledRows&, StatesView, StatesView,
                         const DrawKey&, std::uint64_t, MutableStatesView, void*) {
  throw_no_cuda();
}
void sample_network_chain(const NetworkTensors<float>&, const PinnedSteps&, int, int, StatesView,
                          const DrawKey&, std::uint64_t, MutableStatesView, KeptTables*, void*) {
  throw_no_cuda();
}
void network_log_transition(const NetworkTensors<float>&, const ChainTables<float>&, int,
                            StatesView, double*, KeptTables*, void*) {
  throw_no_cuda();
}
void network_step_log_probability(const NetworkTensors<float>&, const ChainTables<float>&, int,
                                  StatesView, StatesView, double*, KeptTables*, void*) {
  throw_no_cuda();
}

std::unique_ptr<RowKernel> make_row_kernel(MatrixView<const double>, StatesView, StatesView) {
  throw_no_cuda();
}
void sample_weighted_rows(const Context&, const WeightedRows&, StatesView, const DrawKey&,
                          std::uint64_t, MutableStatesView) {
  throw_no_cuda();
}
void weighted_row_marginals(const Context&, const WeightedRows&, StatesView, double*) {
  throw_no_cuda();
}

std::shared_ptr<void> allocate_memory(std::size_t) { throw_no_cuda(); }
void copy_memory(const void*, void*, std::size_t, void*) { throw_no_cuda(); }
void take_states(std::string_view, const DeviceIntegers&, int, MutableStatesView, void*) {
  throw_no_cuda();
}

Matrix<std::int64_t> count_columns(StatesView, int, void*) { throw_no_cuda(); }
std::vector<std::int64_t> pair_differences(const ComparedStates&, void*) { throw_no_cuda(); }
RowSigns row_signs(StatesView, StatesView, int, void*) { throw_no_cuda(); }
void add_step_kl(const double*, const double*, std::size_t, std::size_t, std::size_t, double*,
                 void*) {
  throw_no_cuda();
}
void step_log_probability(const double*, StatesView, std::size_t, double*, void*) {
  throw_no_cuda();
}
void take_rows(StatesView, std::span<const std::uint32_t>, MutableStatesView, void*) {
  throw_no_cuda();
}

std::unique_ptr<RowSampler> make_row_sampler(const RowSource&) { throw_no_cuda(); }
std::unique_ptr<CpTrainer> make_cp_trainer(const Context&, CpTrainerPlan) { throw_no_cuda(); }
std::unique_ptr<NetworkTrainer> make_network_trainer(NetworkTrainerPlan, int) { throw_no_cuda(); }

}  // namespace bridgemark::backend::cuda
