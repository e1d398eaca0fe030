#include "bridgemark/metric/one_hot_classifier.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
// Eigen's own threads would split a product by their number; ours go over fixed blocks of rows.
#ifndef EIGEN_DONT_PARALLELIZE
#define EIGEN_DONT_PARALLELIZE
#endif
#include <Eigen/Core>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/math/philox.h"

namespace bridgemark {
namespace {

// Rows that one task takes through the network: their activations stay in the first-level cache.
constexpr std::size_t kRowBlock = 64;
// Coordinates whose embeddings one task updates; hidden units likewise for the second layer.
constexpr std::size_t kCoordinateBlock = 4;
constexpr std::size_t kHiddenBlock = 32;

// The start of the embedding in units of He's bound.
constexpr double kEmbeddingScale = 0.01;
// Positions are clipped here, so that one stray category cannot dominate a row.
constexpr double kMaxPosition = 5.0;

using Eigen::Index;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixMap = Eigen::Map<RowMajor>;
using ConstMatrixMap = Eigen::Map<const RowMajor>;
using ConstColumnMap = Eigen::Map<const Eigen::VectorXf>;
using ConstRowMap = Eigen::Map<const Eigen::RowVectorXf>;

}  // namespace

OneHotClassifier::OneHotClassifier(std::size_t num_coordinates, int num_categories,
                                   std::span<const LabelledRow> training_rows,
                                   const Options& options)
    : num_coordinates_(num_coordinates),
      num_categories_(static_cast<std::size_t>(num_categories)),
      hidden_(static_cast<std::size_t>(options.hidden)),
      optimizer_{.learning_rate = options.learning_rate,
                 .beta1 = 0.9,
                 .beta2 = 0.999,
                 .weight_decay = options.weight_decay},
      position_(num_coordinates_ * num_categories_),
      table_(num_coordinates_ * num_categories_ * hidden_),
      embedding_(num_coordinates_ * num_categories_ * hidden_),
      slope_(num_coordinates_ * hidden_),
      bias1_(hidden_),
      weight2_(hidden_ * hidden_),
      bias2_(hidden_),
      weight3_(hidden_),
      bias3_(1) {
  set_positions(training_rows);
  // He's uniform bound, times `scale`; of a one-hot input num_coordinates entries are 1.
  const auto initialise = [&](AdamParameter& parameter, std::uint32_t layer, std::size_t fan_in,
                              double scale) {
    const double bound = scale * std::sqrt(6.0 / static_cast<double>(fan_in));
    const DrawKey key{options.seed, DrawPurpose::kInitialise, layer};
    for (std::size_t i = 0; i < parameter.value.size(); ++i) {
      const double uniform = DrawSequence(key, i).uniform();
      parameter.value[i] = static_cast<float>(bound * (2.0 * uniform - 1.0));
    }
  };
  initialise(embedding_, 1, num_coordinates_, kEmbeddingScale);
  initialise(weight2_, 2, hidden_, 1.0);
  initialise(weight3_, 3, hidden_, 1.0);
  for (std::size_t c = 0; c < num_coordinates_; ++c) refresh_table(c);
}

void OneHotClassifier::set_positions(std::span<const LabelledRow> rows) {
  const double count = static_cast<double>(std::max<std::size_t>(rows.size(), 1));
  for (std::size_t c = 0; c < num_coordinates_; ++c) {
    double sum = 0;
    for (const LabelledRow& row : rows) sum += row.states[c];
    const double mean = sum / count;
    double squares = 0;
    for (const LabelledRow& row : rows) {
      squares += (row.states[c] - mean) * (row.states[c] - mean);
    }
    const double deviation = std::sqrt(squares / count);
    if (!(deviation > 0.0)) continue;  // a constant coordinate has no scale: positions stay 0
    for (std::size_t s = 0; s < num_categories_; ++s) {
      const double position = (static_cast<double>(s) - mean) / deviation;
      position_[c * num_categories_ + s] =
          static_cast<float>(std::clamp(position, -kMaxPosition, kMaxPosition));
    }
  }
}

void OneHotClassifier::refresh_table(std::size_t coordinate) {
  const Index hidden = static_cast<Index>(hidden_);
  const Index categories = static_cast<Index>(num_categories_);
  const std::size_t offset = coordinate * num_categories_ * hidden_;
  const ConstColumnMap position(position_.data() + coordinate * num_categories_, categories);
  const ConstRowMap slope(slope_.value.data() + coordinate * hidden_, hidden);
  MatrixMap(table_.data() + offset, categories, hidden) =
      ConstMatrixMap(embedding_.value.data() + offset, categories, hidden) +
      position.lazyProduct(slope);
}

void OneHotClassifier::predict(const Context& context, std::span<const LabelledRow> rows,
                               std::span<float> logits) const {
  parallel_blocks(context, rows.size(), kRowBlock, [&](std::size_t first, std::size_t last) {
    std::vector<float> activations(2 * (last - first) * hidden_);
    forward(rows.subspan(first, last - first), activations.data(),
            activations.data() + (last - first) * hidden_, logits.data() + first);
  });
}

void OneHotClassifier::train(const Context& context, std::span<const LabelledRow> batch) {
  activation1_.resize(batch.size() * hidden_);
  activation2_.resize(batch.size() * hidden_);
  delta1_.resize(batch.size() * hidden_);
  delta2_.resize(batch.size() * hidden_);
  delta3_.resize(batch.size());
  parallel_blocks(context, batch.size(), kRowBlock, [&](std::size_t first, std::size_t last) {
    backpropagate_rows(batch, first, last);
  });
  ++steps_;
  // Each task owns the parameters it updates and adds over the whole batch in order. The dense
  // layers come first: they are the longest tasks.
  const std::size_t hidden_tasks = (hidden_ + kHiddenBlock - 1) / kHiddenBlock;
  const std::size_t coordinate_tasks = (num_coordinates_ + kCoordinateBlock - 1) / kCoordinateBlock;
  parallel_blocks(context, 1 + hidden_tasks + coordinate_tasks, 1,
                  [&](std::size_t task, std::size_t) {
                    if (task < hidden_tasks) {
                      update_second_layer(batch.size(), task * kHiddenBlock);
                    } else if (task == hidden_tasks) {
                      update_vectors(batch.size());
                    } else {
                      update_embedding(batch, (task - hidden_tasks - 1) * kCoordinateBlock);
                    }
                  });
}

void OneHotClassifier::forward(std::span<const LabelledRow> rows, float* activation1,
                               float* activation2, float* logits) const {
  const Index count = static_cast<Index>(rows.size());
  const Index hidden = static_cast<Index>(hidden_);
  MatrixMap a1(activation1, count, hidden);
  a1.rowwise() = ConstRowMap(bias1_.value.data(), hidden);
  for (std::size_t c = 0; c < num_coordinates_; ++c) {
    const float* table = table_.data() + c * num_categories_ * hidden_;
    for (Index b = 0; b < count; ++b) {
      a1.row(b) += ConstRowMap(table + rows[b].states[c] * hidden_, hidden);
    }
  }
  a1 = a1.cwiseMax(0.0f);
  MatrixMap a2(activation2, count, hidden);
  a2.noalias() = a1 * ConstMatrixMap(weight2_.value.data(), hidden, hidden);
  a2.rowwise() += ConstRowMap(bias2_.value.data(), hidden);
  a2 = a2.cwiseMax(0.0f);
  const ConstRowMap weight3(weight3_.value.data(), hidden);
  for (Index b = 0; b < count; ++b) logits[b] = a2.row(b).dot(weight3) + bias3_.value[0];
}

void OneHotClassifier::backpropagate_rows(std::span<const LabelledRow> batch, std::size_t first,
                                          std::size_t last) {
  const Index count = static_cast<Index>(last - first);
  const Index hidden = static_cast<Index>(hidden_);
  MatrixMap a1(activation1_.data() + first * hidden_, count, hidden);
  MatrixMap a2(activation2_.data() + first * hidden_, count, hidden);
  MatrixMap d1(delta1_.data() + first * hidden_, count, hidden);
  MatrixMap d2(delta2_.data() + first * hidden_, count, hidden);
  forward(batch.subspan(first, last - first), a1.data(), a2.data(), delta3_.data() + first);
  const ConstRowMap weight3(weight3_.value.data(), hidden);
  for (Index b = 0; b < count; ++b) {
    const LabelledRow& row = batch[first + b];
    float& delta3 = delta3_[first + b];
    const float probability = 1.0f / (1.0f + std::exp(-delta3));
    delta3 = row.weight * (probability - row.label) / static_cast<float>(batch.size());
    d2.row(b) = (a2.row(b).array() > 0.0f).select(delta3 * weight3, 0.0f);
  }
  d1.noalias() = d2 * ConstMatrixMap(weight2_.value.data(), hidden, hidden).transpose();
  d1 = (a1.array() > 0.0f).select(d1, 0.0f);
}

void OneHotClassifier::update(AdamParameter& parameter, std::size_t offset,
                              std::span<const float> gradient) const {
  const auto part = [&](std::vector<float>& values) {
    return std::span(values).subspan(offset, gradient.size());
  };
  // The tasks that call it are on threads of their own.
  const Context one_thread{.num_threads = 1};
  backend::of(one_thread)
      .adamw_update(one_thread, optimizer_, steps_, gradient, part(parameter.value),
                    part(parameter.first_moment), part(parameter.second_moment));
}

void OneHotClassifier::update_second_layer(std::size_t batch_size, std::size_t first) {
  const Index rows = static_cast<Index>(batch_size);
  const Index hidden = static_cast<Index>(hidden_);
  const Index count = static_cast<Index>(std::min(kHiddenBlock, hidden_ - first));
  const ConstMatrixMap a1(activation1_.data(), rows, hidden);
  const ConstMatrixMap d2(delta2_.data(), rows, hidden);
  const RowMajor gradient = a1.middleCols(static_cast<Index>(first), count).transpose() * d2;
  update(weight2_, first * hidden_, {gradient.data(), static_cast<std::size_t>(gradient.size())});
}

void OneHotClassifier::update_vectors(std::size_t batch_size) {
  const Index rows = static_cast<Index>(batch_size);
  const Index hidden = static_cast<Index>(hidden_);
  const ConstRowMap d3(delta3_.data(), rows);
  const Eigen::RowVectorXf bias1 = ConstMatrixMap(delta1_.data(), rows, hidden).colwise().sum();
  const Eigen::RowVectorXf bias2 = ConstMatrixMap(delta2_.data(), rows, hidden).colwise().sum();
  const Eigen::RowVectorXf weight3 = d3 * ConstMatrixMap(activation2_.data(), rows, hidden);
  const float bias3 = d3.sum();
  update(bias1_, 0, {bias1.data(), hidden_});
  update(bias2_, 0, {bias2.data(), hidden_});
  update(weight3_, 0, {weight3.data(), hidden_});
  update(bias3_, 0, {&bias3, 1});
}

void OneHotClassifier::update_embedding(std::span<const LabelledRow> batch, std::size_t first) {
  const Index hidden = static_cast<Index>(hidden_);
  const std::size_t last = std::min(first + kCoordinateBlock, num_coordinates_);
  RowMajor gradient(static_cast<Index>(num_categories_), hidden);
  for (std::size_t c = first; c < last; ++c) {
    gradient.setZero();
    for (std::size_t b = 0; b < batch.size(); ++b) {
      gradient.row(batch[b].states[c]) += ConstRowMap(delta1_.data() + b * hidden_, hidden);
    }
    update(embedding_, c * num_categories_ * hidden_, {gradient.data(), num_categories_ * hidden_});
    const ConstRowMap position(position_.data() + c * num_categories_,
                               static_cast<Index>(num_categories_));
    const Eigen::RowVectorXf slope_gradient = position * gradient;
    update(slope_, c * hidden_, {slope_gradient.data(), hidden_});
    refresh_table(c);
  }
}

}  // namespace bridgemark
