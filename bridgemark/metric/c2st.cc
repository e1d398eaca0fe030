#include "bridgemark/metric/c2st.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/metric/one_hot_classifier.h"

namespace bridgemark {
namespace {

constexpr std::string_view kC2st = "c2st";

// Details of DrawPurpose::kShuffle; epoch e shuffles with kFirstEpochDetail + e.
constexpr std::uint32_t kRealSplitDetail = 0;
constexpr std::uint32_t kFakeSplitDetail = 1;
constexpr std::uint32_t kFirstEpochDetail = 2;
constexpr int kMaxEpochs = 1 << 20;

// Below this validation loss, in nats, the sets are told apart and nothing is left to learn.
constexpr double kSolvedLoss = 1e-3;

void check_options(const C2stOptions& options) {
  const auto check_positive = [](std::string_view name, int value) {
    if (value < 1) throw_invalid(kC2st, "{} must be at least 1, got {}", name, value);
  };
  check_positive("hidden", options.hidden);
  check_positive("max_epochs", options.max_epochs);
  check_positive("batch_size", options.batch_size);
  check_positive("patience", options.patience);
  if (options.max_epochs > kMaxEpochs) {
    throw_invalid(kC2st, "max_epochs must be at most {}, got {}", kMaxEpochs, options.max_epochs);
  }
  if (!(options.learning_rate > 0.0 && std::isfinite(options.learning_rate))) {
    throw_invalid(kC2st, "learning_rate must be positive, got {}", options.learning_rate);
  }
  if (!(options.weight_decay >= 0.0 && std::isfinite(options.weight_decay))) {
    throw_invalid(kC2st, "weight_decay must not be negative, got {}", options.weight_decay);
  }
  if (!(options.train_share > 0.0 && options.validation_share > 0.0 &&
        options.train_share + options.validation_share < 1.0)) {
    throw_invalid(kC2st,
                  "train_share and validation_share must be positive and add up to less than 1, "
                  "got {} and {}",
                  options.train_share, options.validation_share);
  }
}

std::vector<std::size_t> permutation(const DrawKey& key, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) {
    const double uniform = DrawSequence(key, i).uniform();
    std::swap(order[i - 1], order[static_cast<std::size_t>(uniform * static_cast<double>(i))]);
  }
  return order;
}

// The rows of one part of the split: those of `real` (label 1), then those of `fake`. The weights
// make both sets weigh the same, 1 on average.
struct Part {
  std::vector<LabelledRow> rows;
  std::size_t num_real = 0;

  void weigh() {
    const double half = static_cast<double>(rows.size()) / 2.0;
    const double real = half / static_cast<double>(num_real);
    const double fake = half / static_cast<double>(rows.size() - num_real);
    for (LabelledRow& row : rows) row.weight = static_cast<float>(row.label > 0.0f ? real : fake);
  }
};

struct Split {
  Part train;
  Part validation;
  Part test;
};

void split_set(std::string_view name, StatesView set, float label, const DrawKey& key,
               const C2stOptions& options, Split& split) {
  const std::vector<std::size_t> order = permutation(key, set.rows);
  const double count = static_cast<double>(set.rows);
  const std::size_t train_end = static_cast<std::size_t>(std::lround(count * options.train_share));
  const std::size_t validation_end = static_cast<std::size_t>(
      std::lround(count * (options.train_share + options.validation_share)));
  if (train_end == 0 || validation_end <= train_end || set.rows <= validation_end) {
    throw_invalid(kC2st,
                  "{} must have enough rows for one in each of the training, validation and test "
                  "parts, got {}",
                  name, set.rows);
  }
  const auto add = [&](std::size_t first, std::size_t last, Part& part) {
    for (std::size_t i = first; i < last; ++i) {
      part.rows.push_back({set.row(order[i]), label, 1.0f});
    }
    if (label > 0.0f) part.num_real = part.rows.size();
  };
  add(0, train_end, split.train);
  add(train_end, validation_end, split.validation);
  add(validation_end, set.rows, split.test);
}

Split make_split(StatesView real, StatesView fake, const C2stOptions& options) {
  const DrawKey real_key{options.seed, DrawPurpose::kShuffle, kRealSplitDetail};
  const DrawKey fake_key{options.seed, DrawPurpose::kShuffle, kFakeSplitDetail};
  Split split;
  split_set("real", real, 1.0f, real_key, options, split);
  split_set("fake", fake, 0.0f, real.rows == fake.rows ? real_key : fake_key, options, split);
  split.train.weigh();
  split.validation.weigh();
  split.test.weigh();
  return split;
}

double mean_loss(const Context& context, const OneHotClassifier& classifier, const Part& part) {
  std::vector<float> logits(part.rows.size());
  classifier.predict(context, part.rows, logits);
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double logit = logits[i];
    // log(1 + e^z) - label z, with the exponential of a number that is not positive.
    const double softplus = std::max(logit, 0.0) + std::log1p(std::exp(-std::abs(logit)));
    sum += part.rows[i].weight * (softplus - part.rows[i].label * logit);
  }
  return sum / static_cast<double>(logits.size());
}

void train_epoch(const Context& context, const Part& part, const C2stOptions& options, int epoch,
                 OneHotClassifier& classifier) {
  const DrawKey key{options.seed, DrawPurpose::kShuffle,
                    kFirstEpochDetail + static_cast<std::uint32_t>(epoch)};
  std::vector<LabelledRow> shuffled;
  shuffled.reserve(part.rows.size());
  for (const std::size_t i : permutation(key, part.rows.size())) shuffled.push_back(part.rows[i]);
  const std::span<const LabelledRow> rows(shuffled);
  const std::size_t batch_size = static_cast<std::size_t>(options.batch_size);
  for (std::size_t first = 0; first < rows.size(); first += batch_size) {
    classifier.train(context, rows.subspan(first, std::min(batch_size, rows.size() - first)));
  }
}

// For each score the number of `others` below it, ties counted half.
std::vector<double> count_below(std::span<const float> scores, std::span<const float> others) {
  std::vector<float> sorted(others.begin(), others.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> result;
  result.reserve(scores.size());
  for (const float score : scores) {
    const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), score);
    result.push_back(static_cast<double>((low - sorted.begin()) + (high - sorted.begin())) / 2.0);
  }
  return result;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The variance of the mean of independent values.
double variance_of_mean(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double center = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - center) * (value - center);
  const double count = static_cast<double>(values.size());
  return sum / ((count - 1.0) * count);
}

void check_scores(std::span<const float> positives, std::span<const float> negatives) {
  if (positives.empty() || negatives.empty()) {
    throw_invalid(kC2st, "an AUC needs positives and negatives, got {} and {}", positives.size(),
                  negatives.size());
  }
}

}  // namespace

AucEstimate estimate_auc(std::span<const float> positives, std::span<const float> negatives) {
  check_scores(positives, negatives);
  const double num_positives = static_cast<double>(positives.size());
  const double num_negatives = static_cast<double>(negatives.size());
  const std::vector<double> below_positive = count_below(positives, negatives);
  const std::vector<double> below_negative = count_below(negatives, positives);
  const double variance = variance_of_mean(below_positive) / (num_negatives * num_negatives) +
                          variance_of_mean(below_negative) / (num_positives * num_positives);
  return {mean(below_positive) / num_negatives, std::sqrt(variance)};
}

AucEstimate estimate_paired_auc(std::span<const float> positives,
                                std::span<const float> negatives) {
  check_scores(positives, negatives);
  if (positives.size() != negatives.size()) {
    throw_invalid(kC2st, "paired scores must be equal in number, got {} and {}", positives.size(),
                  negatives.size());
  }
  // To first order the error of the AUC is the mean over i of the rank of positive i among the
  // negatives less the rank of negative i among the positives: the pairs are independent of each
  // other, their two members need not be.
  const double count = static_cast<double>(positives.size());
  const std::vector<double> below_positive = count_below(positives, negatives);
  std::vector<double> difference = count_below(negatives, positives);
  for (std::size_t i = 0; i < difference.size(); ++i) {
    difference[i] = below_positive[i] - difference[i];
  }
  return {mean(below_positive) / count, std::sqrt(variance_of_mean(difference)) / count};
}

C2stResult c2st(const Context& context, StatesView real, StatesView fake, int num_categories,
                const C2stOptions& options) {
  check_options(options);
  if (num_categories < 1) {
    throw_invalid(kC2st, "num_categories must be at least 1, got {}", num_categories);
  }
  if (real.cols == 0) throw_invalid(kC2st, "real must have at least 1 column, got 0");
  check_states("real", real, real.cols, num_categories);
  check_states("fake", fake, real.cols, num_categories);
  const Split split = make_split(real, fake, options);

  OneHotClassifier classifier(
      real.cols, num_categories, split.train.rows,
      {options.hidden, options.learning_rate, options.weight_decay, options.seed});
  OneHotClassifier best = classifier;
  C2stResult result;
  result.validation_loss = std::numeric_limits<double>::infinity();
  int best_epoch = 0;
  while (result.epochs < options.max_epochs && !result.converged) {
    train_epoch(context, split.train, options, result.epochs, classifier);
    ++result.epochs;
    const double loss = mean_loss(context, classifier, split.validation);
    if (loss < result.validation_loss) {
      result.validation_loss = loss;
      best = classifier;
      best_epoch = result.epochs;
    }
    result.converged =
        result.epochs - best_epoch >= options.patience || result.validation_loss < kSolvedLoss;
    context.report(kC2st, static_cast<std::uint64_t>(result.epochs),
                   static_cast<std::uint64_t>(options.max_epochs));
  }
  if (best_epoch == 0) {
    throw Error(
        fmt::format("[{}] training diverged: no epoch had a finite validation loss at "
                    "learning_rate {}",
                    kC2st, options.learning_rate));
  }

  std::vector<float> logits(split.test.rows.size());
  best.predict(context, split.test.rows, logits);
  const std::span<const float> scores(logits);
  const std::span<const float> positives = scores.first(split.test.num_real);
  const std::span<const float> negatives = scores.subspan(split.test.num_real);
  const AucEstimate estimate = real.rows == fake.rows ? estimate_paired_auc(positives, negatives)
                                                      : estimate_auc(positives, negatives);
  result.auc = estimate.auc;
  result.auc_standard_error = estimate.standard_error;
  result.score = 1.0 - 2.0 * std::abs(result.auc - 0.5);
  result.test_size = logits.size();
  return result;
}

}  // namespace bridgemark
