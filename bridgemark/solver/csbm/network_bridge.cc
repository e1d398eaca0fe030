#include "bridgemark/solver/csbm/network_bridge.h"

#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/solver/csbm/network_file.h"

namespace bridgemark {

using backend::NetworkTensors;

namespace {

// What a model's file says of its last step.
constexpr char kLastStep[] = "last_step", kReference[] = "reference", kSoftmax[] = "softmax";

}  // namespace

NetworkBridge::NetworkBridge(TwoWaySteps steps,
                             std::shared_ptr<const NetworkTensors<float>> forward,
                             std::shared_ptr<const NetworkTensors<float>> backward)
    : steps_(std::move(steps)), forward_(std::move(forward)), backward_(std::move(backward)) {
  const backend::NetworkShape& shape = forward_->shape;
  const auto fits = [&](const backend::PinnedSteps& pinned) {
    return pinned.chain.num_categories == shape.num_categories &&
           pinned.chain.num_steps == shape.num_steps;
  };
  if (!(shape == backward_->shape) || !fits(*steps_.towards_x1) || !fits(*steps_.towards_x0)) {
    throw_invalid("network bridge",
                  "networks and reference must share space and steps, got S = {} and {} steps for "
                  "the forward network, {} and {} for the reference",
                  shape.num_categories, shape.num_steps, steps_.towards_x1->chain.num_categories,
                  steps_.towards_x1->chain.num_steps);
  }
}

std::shared_ptr<const Coupling> NetworkBridge::reversed() const {
  return std::make_shared<const NetworkBridge>(TwoWaySteps{steps_.towards_x0, steps_.towards_x1},
                                               backward_, forward_);
}

void NetworkBridge::sample(const Context& context, StatesView x0, const DrawKey& key,
                           std::uint64_t first_index, MutableStatesView x1) const {
  check_states("x0", x0, dim(), num_categories());
  backend::NetworkWorkspace<float> workspace;
  backend::of(context).sample_network_chain(context, *forward_, *steps_.towards_x1, num_steps(),
                                            num_steps(), x0, key, first_index, x1, workspace,
                                            kept_.get());
}

void NetworkBridge::check_step(int num_steps, int n) const {
  if (num_steps != this->num_steps() || n < 0 || n >= num_steps) {
    throw_invalid("network bridge",
                  "the chain has {} steps, 0..{}, got step {} of a chain of num_steps = {}",
                  this->num_steps(), this->num_steps() - 1, n, num_steps);
  }
}

void NetworkBridge::write_log_transition_marginals(const Context& context, int num_steps, int n,
                                                   StatesView x, MatrixView<double> out) const {
  check_step(num_steps, n);
  check_states("x", x, dim(), num_categories());
  backend::of(context).network_log_transition(context, *forward_, steps_.towards_x1->chain,
                                              num_steps - n, x, out, kept_.get());
}

void NetworkBridge::log_transition(const Context& context, int num_steps, int n, StatesView from,
                                   StatesView to, std::span<double> out) const {
  check_step(num_steps, n);
  check_states("from", from, dim(), num_categories());
  check_states("to", to, dim(), num_categories());
  if (from.rows != to.rows) {
    throw_invalid("network bridge", "both states must have the same rows, got {} and {}", from.rows,
                  to.rows);
  }
  backend::of(context).network_step_log_probability(context, *forward_, steps_.towards_x1->chain,
                                                    num_steps - n, from, to, out.data(),
                                                    kept_.get());
}

void NetworkBridge::sample_transition(const Context& context, int num_steps, int n, StatesView x,
                                      const DrawKey& key, std::uint64_t first_index,
                                      MutableStatesView out) const {
  check_step(num_steps, n);
  check_states("x", x, dim(), num_categories());
  backend::NetworkWorkspace<float> workspace;
  backend::of(context).sample_network_chain(context, *forward_, *steps_.towards_x1, num_steps - n,
                                            1, x, key, first_index, out, workspace, kept_.get());
}

void save_network_bridge(const NetworkBridge& bridge, const std::filesystem::path& path) {
  SafetensorsWriter writer;
  writer.set_metadata("kind", "network-bridge");
  writer.set_metadata(kLastStep,
                      bridge.forward().shape.reference_last_step ? kReference : kSoftmax);
  add_network(writer, "forward.", bridge.forward());
  add_network(writer, "backward.", bridge.backward());
  writer.write(path);
}

std::shared_ptr<const NetworkBridge> load_network_bridge(const Context& context,
                                                         const ReferenceProcess& process,
                                                         std::size_t dim,
                                                         const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::load(path);
  const std::string name = path.string();
  const auto S = static_cast<std::size_t>(process.num_categories());
  // A file that does not say is of the published kind.
  const auto last_step = file.metadata().find(kLastStep);
  const bool by_reference = last_step != file.metadata().end() && last_step->second == kReference;
  const auto network = [&](const std::string& prefix) {
    backend::NetworkShape shape = read_network_shape(file, name, prefix, dim, S);
    shape.reference_last_step = by_reference;
    return std::make_shared<const NetworkTensors<float>>(
        read_network<float>(file, name, prefix, shape));
  };
  const auto forward = network("forward."), backward = network("backward.");
  try {
    return std::make_shared<const NetworkBridge>(
        make_two_way_steps(context, process, forward->shape.num_steps), forward, backward);
  } catch (const InvalidArgument& error) {
    throw_file(name, "{}", error.what());
  }
}

}  // namespace bridgemark
