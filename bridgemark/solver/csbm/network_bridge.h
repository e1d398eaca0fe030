#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "bridgemark/backend/plan/network_steps.h"
#include "bridgemark/bridge/coupling.h"
#include "bridgemark/process/pinned_steps.h"
#include "bridgemark/process/reference_process.h"

namespace bridgemark {

// A Markov chain whose transitions are networks: forward from x0 to x1 and, as a second network,
// backward from x1 to x0. A step draws the clean end from the network, then a step of the reference
// pinned to it; the dimensions of a step are independent. Cheap to copy.
class NetworkBridge : public Coupling {
 public:
  // Throws InvalidArgument unless networks and steps live on the same space and chain.
  NetworkBridge(TwoWaySteps steps, std::shared_ptr<const backend::NetworkTensors<float>> forward,
                std::shared_ptr<const backend::NetworkTensors<float>> backward);

  std::size_t dim() const override { return forward_->shape.dim; }
  int num_categories() const override { return static_cast<int>(forward_->shape.num_categories); }
  int num_steps() const { return forward_->shape.num_steps; }
  const backend::NetworkTensors<float>& forward() const { return *forward_; }
  const backend::NetworkTensors<float>& backward() const { return *backward_; }

  // By the backward network.
  std::shared_ptr<const Coupling> reversed() const override;

  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override;

  bool has_transitions(int num_steps) const override { return num_steps == this->num_steps(); }
  int own_num_steps() const override { return num_steps(); }
  bool takes_device_memory() const override { return true; }
  void write_log_transition_marginals(const Context& context, int num_steps, int n, StatesView x,
                                      MatrixView<double> out) const override;
  void log_transition(const Context& context, int num_steps, int n, StatesView from, StatesView to,
                      std::span<double> out) const override;
  void sample_transition(const Context& context, int num_steps, int n, StatesView x,
                         const DrawKey& key, std::uint64_t first_index,
                         MutableStatesView out) const override;

 private:
  void check_step(int num_steps, int n) const;

  TwoWaySteps steps_;
  std::shared_ptr<const backend::NetworkTensors<float>> forward_, backward_;
  // What a device keeps of the forward network; copies share it.
  std::shared_ptr<backend::KeptTables> kept_ = std::make_shared<backend::KeptTables>();
};

// forward.net.0.weight, ..., backward.net.0.weight, ...
void save_network_bridge(const NetworkBridge& bridge, const std::filesystem::path& path);

// Throws FileError where the tensors do not fit the process and the dimension.
std::shared_ptr<const NetworkBridge> load_network_bridge(const Context& context,
                                                         const ReferenceProcess& process,
                                                         std::size_t dim,
                                                         const std::filesystem::path& path);

}  // namespace bridgemark
