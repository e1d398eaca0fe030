#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"

namespace bridgemark {

// How the classifier is trained and the rows are split.
struct C2stOptions {
  int hidden = 128;  // width of both hidden layers
  int max_epochs = 50;
  int batch_size = 256;
  double learning_rate = 3e-4;
  double weight_decay = 1e-2;
  int patience = 5;  // epochs without a lower validation loss before training stops
  double train_share = 0.6;
  double validation_share = 0.2;  // the test part is the rest
  std::uint64_t seed = 0;
};

// How well the classifier tells the sets apart, and how its training went.
struct C2stResult {
  double auc = 0;                 // on the test part; 1/2: the sets cannot be told apart
  double auc_standard_error = 0;  // see AucEstimate
  double score = 0;               // 1 - 2 |auc - 1/2|, the published form; 1 is best
  double validation_loss = 0;     // nats, of the parameters kept; log 2 is chance
  int epochs = 0;                 // epochs trained, those after the best one included
  bool converged = false;         // stopped by `patience` or a loss near 0, not by `max_epochs`
  std::size_t test_size = 0;      // rows of both sets in the test part
};

// Classifier two-sample test: trains a classifier to tell rows of `real` from rows of `fake` and
// reports how well it ranks rows it has not seen. A row is whatever belongs together, such as the
// coordinates of x0 followed by those of x1.
//
// The classifier is an MLP on one-hot coordinates with two hidden ReLU layers (OneHotClassifier),
// trained by AdamW on the cross-entropy with both sets weighing the same; the parameters of the
// epoch with the lowest validation loss are kept.
//
// Sets of equal size are split by row index: real row i and fake row i, which may share their
// condition (the same x0), fall in the same part. Split apart, a classifier that learns the label
// of a condition in training meets that condition with the other label in the test, which biases
// the AUC downwards. Sets of different size are split each on its own.
//
// Runs on the host. The result is a function of the sets and the options alone, for any number of
// threads. Throws InvalidArgument for bad options, states out of range, or a set too small to put
// a row in each part; Error when training diverges.
C2stResult c2st(const Context& context, StatesView real, StatesView fake, int num_categories,
                const C2stOptions& options = {});

// The area under the ROC curve: the chance that a positive scores above a negative, ties counted
// half. The standard error is DeLong's: 0 at perfect separation, NaN for fewer than two scores of
// a kind. Scores must not be NaN.
struct AucEstimate {
  double auc = 0;
  double standard_error = 0;
};
AucEstimate estimate_auc(std::span<const float> positives, std::span<const float> negatives);

// The same AUC when positive i and negative i belong together: the standard error counts their
// covariance.
AucEstimate estimate_paired_auc(std::span<const float> positives, std::span<const float> negatives);

}  // namespace bridgemark
