#include "bridgemark/solver/cp/cp_model.h"

#include <algorithm>
#include <span>
#include <vector>

namespace bridgemark {

namespace {

template <typename State, typename Visit>
void each_tensor(State& state, Visit&& visit) {
  visit("log_beta", state.parameters.log_beta);
  visit("log_cores", state.parameters.log_cores);
  visit("first_log_beta", state.first_moment.log_beta);
  visit("first_log_cores", state.first_moment.log_cores);
  visit("second_log_beta", state.second_moment.log_beta);
  visit("second_log_cores", state.second_moment.log_cores);
}

}  // namespace

CpPotential to_potential(const backend::CpTensors<float>& parameters) {
  const auto widen = [](std::span<const float> values) {
    return std::vector<double>(values.begin(), values.end());
  };
  return {widen(parameters.log_beta),
          Array3<double>(parameters.dim, parameters.num_categories, parameters.num_components,
                         widen(parameters.log_cores))};
}

void save_cp_state(const backend::CpTrainingState& state, SafetensorsWriter& writer) {
  each_tensor(state, [&](const char* name, std::span<const float> values) {
    writer.add(name, {values.size()}, values);
  });
}

void load_cp_state(const SafetensorsFile& file, backend::CpTrainingState& state) {
  each_tensor(state, [&](const char* name, std::span<float> values) {
    file.expect_shape(name, std::vector{values.size()});
    std::ranges::copy(file.read_floats(name), values.begin());
  });
}

}  // namespace bridgemark
