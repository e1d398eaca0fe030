#pragma once

#include <cstddef>
#include <string>
#include <vector>

// The network of CSBM: an MLP with ReLU from a state x and the number of steps left to logits of
// the clean end, [D,S]. Its input is [x, row of the step embedding], where x enters as D numbers or
// as D rows of a learned category embedding.
namespace bridgemark::backend {

struct NetworkShape {
  std::size_t dim = 0;
  std::size_t num_categories = 0;
  int num_steps = 0;
  std::vector<std::size_t> hidden;
  std::size_t category_width = 0;  // of the category embedding; 0: a category is its number
  // The last step, too, weighs the reference's; else it is the softmax of the logits alone, as
  // published, and the network must learn to copy every coordinate.
  bool reference_last_step = false;

  bool is_softmax_step(int steps_left) const { return steps_left == 1 && !reference_last_step; }

  // The step embedding has as many entries as the state, and rows 0..num_steps; row 0 is not used.
  std::size_t step_width() const { return dim; }
  std::size_t state_width() const { return category_width > 0 ? dim * category_width : dim; }
  std::size_t input_width() const { return state_width() + step_width(); }
  std::size_t output_width() const { return dim * num_categories; }

  std::size_t num_layers() const { return hidden.size() + 1; }
  std::size_t layer_inputs(std::size_t l) const { return l == 0 ? input_width() : hidden[l - 1]; }
  std::size_t layer_outputs(std::size_t l) const {
    return l < hidden.size() ? hidden[l] : output_width();
  }

  // Where the parts lie in the vector of all parameters.
  std::size_t weight_offset(std::size_t l) const;  // [outputs, inputs]
  std::size_t bias_offset(std::size_t l) const;    // [outputs]
  std::size_t step_offset() const;                 // [num_steps + 1, step_width]
  std::size_t category_offset() const;             // [S, category_width], empty for numbers
  std::size_t num_parameters() const;

  bool operator==(const NetworkShape&) const = default;
};

// A named part of the parameters, as files hold it.
struct NetworkPart {
  std::string name;  // net.0.weight, net.0.bias, net.2.weight, ..., timestep_embedding.weight
  std::vector<std::size_t> shape;
  std::size_t offset;
  std::size_t count;
};

std::vector<NetworkPart> network_parts(const NetworkShape& shape);

// Parameters, a gradient or moments: one vector, so that the optimiser and files see one array.
template <typename T>
struct NetworkTensors {
  NetworkShape shape;
  std::vector<T> values;

  NetworkTensors() = default;
  explicit NetworkTensors(NetworkShape s)
      : shape(std::move(s)), values(shape.num_parameters(), T(0)) {}

  T* weight(std::size_t l) { return values.data() + shape.weight_offset(l); }
  const T* weight(std::size_t l) const { return values.data() + shape.weight_offset(l); }
  T* bias(std::size_t l) { return values.data() + shape.bias_offset(l); }
  const T* bias(std::size_t l) const { return values.data() + shape.bias_offset(l); }
  T* step_row(std::size_t steps_left) {
    return values.data() + shape.step_offset() + steps_left * shape.step_width();
  }
  const T* step_row(std::size_t steps_left) const {
    return values.data() + shape.step_offset() + steps_left * shape.step_width();
  }
  T* category_row(std::size_t category) {
    return values.data() + shape.category_offset() + category * shape.category_width;
  }
  const T* category_row(std::size_t category) const {
    return values.data() + shape.category_offset() + category * shape.category_width;
  }
};

}  // namespace bridgemark::backend
