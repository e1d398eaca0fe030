#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bridgemark/core/context.h"
#include "bridgemark/math/adamw.h"

namespace bridgemark {

// A tensor with the moments that Adam keeps of its gradient.
struct AdamParameter {
  explicit AdamParameter(std::size_t size) : value(size), first_moment(size), second_moment(size) {}

  std::vector<float> value;
  std::vector<float> first_moment;
  std::vector<float> second_moment;
};

// A row of C coordinates with its class.
struct LabelledRow {
  const std::int32_t* states;
  float label;   // 0 or 1
  float weight;  // of its term in the loss
};

// A binary classifier of rows in {0..S-1}^C, the network behind the classifier two-sample test:
//   logit = w3 . relu(W2' relu(b1 + sum_c table[c, x_c]) + b2) + b3.
// The first layer of a one-hot input is a sum of C rows of its weights, so the one-hot matrix is
// never formed.
//
// Two choices let it find a difference before it learns the training rows by heart. Both leave the
// functions it can express alone:
// - table[c, s] = embedding[c, s] + position[c, s] * slope[c], where position is the category in
//   standard deviations from the coordinate's mean. A trend over ordered categories then takes one
//   vector a coordinate, where the embedding alone would learn it for each category apart.
// - The table starts near zero. A random table of the usual size gives each row a fingerprint,
//   and the layers above it fit those first.
//
// Copying the object takes a snapshot. Results are the same for any number of threads.
class OneHotClassifier {
 public:
  struct Options {
    int hidden;
    double learning_rate;
    double weight_decay;
    std::uint64_t seed;
  };

  // `training_rows` fix the scale of each coordinate.
  OneHotClassifier(std::size_t num_coordinates, int num_categories,
                   std::span<const LabelledRow> training_rows, const Options& options);

  void predict(const Context& context, std::span<const LabelledRow> rows,
               std::span<float> logits) const;

  // One step of AdamW on the mean over the batch of weight * cross-entropy.
  void train(const Context& context, std::span<const LabelledRow> batch);

 private:
  friend class OneHotClassifierPeer;  // tests compare the gradients with finite differences

  void set_positions(std::span<const LabelledRow> rows);
  void refresh_table(std::size_t coordinate);
  // activation1 and activation2 are [rows, hidden].
  void forward(std::span<const LabelledRow> rows, float* activation1, float* activation2,
               float* logits) const;
  // One step on the entries of `parameter` from `offset` on that `gradient` covers.
  void update(AdamParameter& parameter, std::size_t offset, std::span<const float> gradient) const;
  void backpropagate_rows(std::span<const LabelledRow> batch, std::size_t first, std::size_t last);
  void update_second_layer(std::size_t batch_size, std::size_t first);
  void update_vectors(std::size_t batch_size);
  void update_embedding(std::span<const LabelledRow> batch, std::size_t first);

  std::size_t num_coordinates_;
  std::size_t num_categories_;
  std::size_t hidden_;
  AdamWSettings optimizer_;
  std::int64_t steps_ = 0;
  std::vector<float> position_;  // [C, S]
  std::vector<float> table_;     // [C, S, hidden]
  AdamParameter embedding_;      // [C, S, hidden]
  AdamParameter slope_;          // [C, hidden]
  AdamParameter bias1_;
  AdamParameter weight2_;  // [hidden in, hidden out]
  AdamParameter bias2_;
  AdamParameter weight3_;
  AdamParameter bias3_;
  // Of the batch in training, [batch, hidden] but for delta3_ [batch]: values after each ReLU, and
  // derivatives of the loss by the values before it.
  std::vector<float> activation1_;
  std::vector<float> activation2_;
  std::vector<float> delta1_;
  std::vector<float> delta2_;
  std::vector<float> delta3_;
};

}  // namespace bridgemark
