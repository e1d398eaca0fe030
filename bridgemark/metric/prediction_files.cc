#include "bridgemark/metric/prediction_files.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/json.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/metric/given_probabilities.h"
#include "bridgemark/pair/pair_record.h"

namespace bridgemark {

namespace {

// What a solver says of its own probabilities; empty where it says nothing.
struct GivenProbabilities {
  Array3<double> log_marginals;         // [inputs, D, S]
  std::vector<double> log_conditional;  // [test rows]
  std::vector<double> log_answers;      // [test rows], of the answers
  States test_x1;                       // what log_conditional is of
};

class Predictions : public Coupling {
 public:
  Predictions(int num_categories, States answers, States conditional_answers,
              std::size_t conditional_samples, GivenProbabilities given = {})
      : num_categories_(num_categories),
        answers_(std::move(answers)),
        conditional_answers_(std::move(conditional_answers)),
        conditional_samples_(conditional_samples),
        given_(std::move(given)) {}

  std::size_t dim() const override { return answers_.cols(); }
  int num_categories() const override { return num_categories_; }
  bool draws_anew() const override { return false; }

  void sample(const Context&, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override {
    const bool conditional = key.purpose == DrawPurpose::kConditionalPrediction;
    if (conditional && x0.rows != conditional_samples_) {
      throw_invalid("predictions", "conditional_samples must be {}, as the answers have, got {}",
                    conditional_samples_, x0.rows);
    }
    const States* rows = conditional                               ? &conditional_answers_
                         : key.purpose == DrawPurpose::kPrediction ? &answers_
                                                                   : nullptr;
    if (!rows || first_index + x0.rows > rows->rows()) refuse();
    std::copy_n(rows->row(first_index), x1.size(), x1.data);
  }

  bool has_marginals() const override { return given_.log_marginals.size() > 0; }
  void write_log_marginals(const Context&, StatesView x0, MatrixView<double> out) const override {
    if (!has_marginals() || x0.rows != given_.log_marginals.extent(0)) refuse();
    std::copy_n(given_.log_marginals.data(), given_.log_marginals.size(), out.data);
  }

  // Of the x1 of the test set, or of the answers.
  bool has_joint() const override { return !given_.log_conditional.empty(); }
  void log_conditional(const Context&, StatesView x0, StatesView x1,
                       std::span<double> out) const override {
    if (!has_joint() || x0.rows != given_.log_conditional.size()) refuse();
    const auto is = [&](const States& rows) {
      return x1.size() == rows.size() && std::equal(x1.data, x1.data + x1.size(), rows.data());
    };
    const bool of_test = is(given_.test_x1);
    if (!of_test && !is(answers_)) refuse();
    if (!of_test && given_.log_answers.empty()) {
      throw_invalid("predictions", "{} needs {} beside it, log q(x1|x0) of the answers, got none",
                    kLogConditionalFile, kLogAnswersFile);
    }
    std::ranges::copy(of_test ? given_.log_conditional : given_.log_answers, out.begin());
  }

  std::string why_missing(Ability ability, int) const override {
    switch (ability) {
      case Ability::kMarginals:
        return fmt::format("the answers have no log-marginals ({})", kLogMarginalsFile);
      case Ability::kJoint:
        return fmt::format("the answers have no joint log-probability ({})", kLogConditionalFile);
      case Ability::kTransitions:
        break;
    }
    return "answers have no transitions";
  }

 private:
  [[noreturn]] static void refuse() {
    throw_invalid("predictions", "predictions only answer what the protocol asks");
  }

  int num_categories_;
  States answers_;              // [test rows, D]
  States conditional_answers_;  // [inputs * conditional_samples, D]
  std::size_t conditional_samples_;
  GivenProbabilities given_;
};

NpyArray load_shaped(const std::filesystem::path& path, const std::vector<std::size_t>& shape) {
  NpyArray array = load_npy(path);
  if (array.shape != shape) {
    throw_file(path.string(), "expected shape [{}], found [{}]", fmt::join(shape, ", "),
               fmt::join(array.shape, ", "));
  }
  return array;
}

// Runs a check on what a file holds; its message names the file.
template <typename Check>
void check_file(Check&& check) {
  try {
    check();
  } catch (const InvalidArgument& error) {
    throw FileError(error.what());
  }
}

// Integer states of exactly this shape, flattened to rows of the last axis.
States load_exact(const std::filesystem::path& path, const std::vector<std::size_t>& shape,
                  int num_categories) {
  const NpyArray array = load_shaped(path, shape);
  const std::string file = path.string();
  if (is_floating(array.dtype)) throw_file(file, "expected an integer dtype, found a floating one");
  const std::size_t dim = shape.back();
  States states(array.count / dim, dim, array.to_int32());
  check_file([&] { check_states(file, states, dim, num_categories); });
  return states;
}

// Those of the optional files that are there.
GivenProbabilities load_probabilities(const std::filesystem::path& folder, std::size_t inputs,
                                      States test_x1, std::size_t S) {
  const std::size_t test_rows = test_x1.rows(), D = test_x1.cols();
  GivenProbabilities given;
  given.test_x1 = std::move(test_x1);
  if (const auto path = folder / kLogMarginalsFile; path_exists(path)) {
    given.log_marginals = {inputs, D, S, load_shaped(path, {inputs, D, S}).to_doubles()};
    check_file([&] {
      normalize_given_rows(path.string(), {given.log_marginals.data(), inputs * D, S});
    });
  }
  if (const auto path = folder / kLogConditionalFile; path_exists(path)) {
    given.log_conditional = load_shaped(path, {test_rows}).to_doubles();
    check_file([&] { check_given_joint(path.string(), given.log_conditional); });
  }
  if (const auto path = folder / kLogAnswersFile; path_exists(path)) {
    given.log_answers = load_shaped(path, {test_rows}).to_doubles();
    check_file([&] { check_given_joint(path.string(), given.log_answers); });
  }
  return given;
}

std::size_t count_inputs(std::size_t test_rows) {
  return (test_rows + kConditionalStride - 1) / kConditionalStride;
}

void save_states(const std::filesystem::path& path, const States& states) {
  save_npy(path, std::vector{states.rows(), states.cols()},
           std::span<const std::int32_t>(states.data(), states.size()));
}

}  // namespace

KitRows write_kit(const Context& context, const BenchmarkPair& pair,
                  const std::filesystem::path& folder, const TrainingRows& rows) {
  check_training_rows(rows);
  const PairedStates test = pair.test_set(context);
  const States conditional = conditional_inputs(test.x0);
  create_folder(folder);
  if (rows.samples > 0) {
    const TrainingSet set = training_set(context, pair, rows.samples, rows.training_set);
    save_states(folder / "train_x0.npy", set.x0);
    save_states(folder / "train_x1.npy", set.x1);
    nlohmann::json record = {{"pair", pair.identity().name}, {"pair_identity", pair_record(pair)}};
    add_training_rows(record, rows);
    save_json(folder / "kit.json", record);
  }
  save_states(folder / "test_x0.npy", test.x0);
  save_states(folder / "test_x1.npy", test.x1);
  save_states(folder / "conditional_x0.npy", conditional);
  return {test.x0.rows(), conditional.rows()};
}

std::unique_ptr<Coupling> make_predictions(const Context& context, const BenchmarkPair& pair,
                                           States x1, States conditional_x1,
                                           std::size_t conditional_samples) {
  const std::size_t test_rows = pair.test_set(context).x0.rows();
  const auto check = [&](const char* name, const States& states, std::size_t rows) {
    if (states.rows() != rows) {
      throw_invalid("predictions", "{} must have {} rows, got {}", name, rows, states.rows());
    }
    check_states(name, states, pair.dim(), pair.num_categories());
  };
  check("x1", x1, test_rows);
  check("conditional_x1", conditional_x1, count_inputs(test_rows) * conditional_samples);
  return std::make_unique<Predictions>(pair.num_categories(), std::move(x1),
                                       std::move(conditional_x1), conditional_samples);
}

std::unique_ptr<Coupling> load_predictions(const Context& context, const BenchmarkPair& pair,
                                           const std::filesystem::path& folder,
                                           std::size_t conditional_samples) {
  if (!is_folder(folder)) {
    throw_file(folder.string(), "expected a folder with {} and {}", kAnswersFile,
               kConditionalAnswersFile);
  }
  PairedStates test = pair.test_set(context);
  const std::size_t test_rows = test.x0.rows(), inputs = count_inputs(test_rows);
  const int S = pair.num_categories();
  // One by one: the order in which a call makes its arguments, and so the file that a message
  // names, is the compiler's.
  States answers = load_exact(folder / kAnswersFile, {test_rows, pair.dim()}, S);
  States conditional_answers =
      load_exact(folder / kConditionalAnswersFile, {inputs, conditional_samples, pair.dim()}, S);
  GivenProbabilities given =
      load_probabilities(folder, inputs, std::move(test.x1), static_cast<std::size_t>(S));
  return std::make_unique<Predictions>(S, std::move(answers), std::move(conditional_answers),
                                       conditional_samples, std::move(given));
}

}  // namespace bridgemark
