#include "bridgemark/submission/new_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "bridgemark/core/error.h"
#include "bridgemark/core/states.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/io/sha256.h"
#include "bridgemark/metric/answers_digest.h"
#include "bridgemark/metric/likelihood_ratios.h"
#include "bridgemark/metric/prediction_files.h"
#include "bridgemark/metric/sample_scores.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/submission/rank_shift.h"
#include "bridgemark/submission/stated_probabilities.h"
#include "bridgemark/submission/submission_layout.h"

namespace bridgemark {

namespace {

// What a solver's answers to the test set of a pair say of it, a value for each row: of one law
// wherever the inputs are draws of p0.
struct ValuesOfAnswers {
  std::vector<double> shapes;      // of each conditional input
  std::vector<double> log_truth;   // of each answer; empty where the truth has no joint
  std::vector<double> log_ratios;  // log q* - log q of each test row; empty where q is not stated
};

std::vector<double> shapes_of(const Context& context, const BenchmarkPair& pair,
                              const Coupling& answers, const Coupling& truth,
                              const States& inputs) {
  const std::size_t D = pair.dim(), N = kConditionalSamples;
  const std::uint64_t seed = answers_digest(context, answers, pair.test_set(context).x0, inputs, N);
  States repeated(N, D), of_truth(N, D), drawn(N, D);
  std::vector<double> shapes;
  for (std::size_t i = 0; i < inputs.rows(); ++i) {
    for (std::size_t j = 0; j < N; ++j) std::copy_n(inputs.row(i), D, repeated.row(j));
    answers.sample(context, repeated, {0, DrawPurpose::kConditionalPrediction}, i * N, drawn);
    truth.sample(context, repeated, {seed, DrawPurpose::kTruthSample}, i * N, of_truth);
    shapes.push_back(score_samples(context, of_truth, drawn, pair.num_categories()).shape);
    context.report("conditional inputs compared", i + 1, inputs.rows());
  }
  return shapes;
}

ValuesOfAnswers values_of(const Context& context, const BenchmarkPair& pair,
                          const Coupling& answers) {
  const std::shared_ptr<const Coupling> truth = pair.require_truth(context);
  const PairedStates test = pair.test_set(context);
  ValuesOfAnswers values;
  values.shapes = shapes_of(context, pair, answers, *truth, conditional_inputs(test.x0));
  if (!truth->has_joint()) return values;
  States answered(test.x0.rows(), pair.dim());
  answers.sample(context, test.x0, {0, DrawPurpose::kPrediction}, 0, answered);
  values.log_truth.resize(test.x0.rows());
  truth->log_conditional(context, test.x0, answered, values.log_truth);
  if (!answers.has_joint()) return values;
  std::vector<double> log_q(test.x0.rows());
  values.log_ratios.resize(test.x0.rows());
  truth->log_conditional(context, test.x0, test.x1, values.log_ratios);
  answers.log_conditional(context, test.x0, test.x1, log_q);
  for (std::size_t i = 0; i < log_q.size(); ++i) values.log_ratios[i] -= log_q[i];
  return values;
}

std::string shift_between(const std::vector<double>& kept, const std::vector<double>& found,
                          std::string_view of) {
  const double log_chance = log_chance_of_rank_shift(kept, found);
  if (!(log_chance < std::log(kFalseAlarmRate))) return {};
  // How often a value of the submission is the larger one of two.
  std::vector<double> sorted(found);
  std::ranges::sort(sorted);
  double larger = 0.0;
  for (const double value : kept) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    larger += static_cast<double>(first - sorted.begin()) + 0.5 * static_cast<double>(last - first);
  }
  larger /= static_cast<double>(kept.size()) * static_cast<double>(found.size());
  return fmt::format(
      "not of the solver of the submission: {} of its inputs is above that of a new one {:.0f} "
      "times out of 100, where one solver has 50, by chance less often than {}",
      of, 100.0 * larger, kFalseAlarmRate);
}

// Why the files of a folder are not worth reading; empty where they are.
std::string why_no_files(const BenchmarkPair& pair, const SubmittedAnswers& answers,
                         const std::filesystem::path& folder) {
  for (const auto& [name, hash] : answers.sha256) {
    if (std::string why = why_no_answer_file(pair, folder / name); !why.empty()) return why;
  }
  return {};
}

void judge(const Context& context, const std::filesystem::path& kept_folder,
           const SubmittedAnswers& answers, std::uint64_t seed,
           const std::filesystem::path& new_folder, std::vector<std::string>& lines) {
  const auto refuse = [&](const std::string& why) {
    if (!why.empty()) lines.push_back(message_text(new_folder.string() + ": " + why));
  };
  const BenchmarkPair asked = pair_with_new_inputs(context, answers, seed);
  if (std::string why = why_no_files(asked, answers, new_folder); !why.empty()) {
    lines.push_back(std::move(why));
    return;
  }
  try {
    // A kit that was answered where it lies still has its inputs.
    const std::filesystem::path inputs = new_folder / "test_x0.npy";
    if (path_exists(inputs) && load_states(inputs.string()) != asked.test_set(context).x0) {
      refuse(fmt::format("holds new inputs of another seed than {}", seed));
      return;
    }
    const auto found = load_predictions(context, asked, new_folder);
    const BenchmarkPair pair = load_pair(answers.pair);
    const ValuesOfAnswers before =
        values_of(context, pair, *load_predictions(context, pair, kept_folder));
    const ValuesOfAnswers now = values_of(context, asked, *found);
    for (const std::string& line : impossible_statements(context, asked, *found)) {
      refuse("impossible: " + line);
    }
    if (!now.log_ratios.empty()) refuse_impossible_joint(now.log_ratios);
    refuse(shift_between(before.shapes, now.shapes, "the shape score of the draws for one"));
    refuse(shift_between(before.log_truth, now.log_truth,
                         "the truth's probability of an answer to one"));
    refuse(shift_between(before.log_ratios, now.log_ratios, "log q* - log q of a test row of one"));
  } catch (const FileError& error) {
    lines.emplace_back(error.what());
  } catch (const InvalidArgument& error) {
    refuse(std::string("impossible: ") + error.what());
  }
}

}  // namespace

BenchmarkPair pair_with_new_inputs(const Context& context, const SubmittedAnswers& answers,
                                   std::uint64_t seed) {
  Sha256 hash;
  hash.add(answers_folder(answers));
  for (const auto& [name, digest] : answers.sha256) hash.add(name + digest);
  const Sha256::Digest digest = hash.finish();
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) bits = (bits << 8) | digest[i];
  BenchmarkPair pair = load_pair(answers.pair);
  pair.store_test_set(pair.sample_joint(context, kTestSetSize, derive_seed(bits, seed)));
  return pair;
}

std::vector<std::filesystem::path> write_new_inputs(const Context& context,
                                                    const SolverFile& solver, std::uint64_t seed,
                                                    const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> written;
  for (const SubmittedAnswers& answers : solver.predictions) {
    written.push_back(folder / answers_folder(answers));
    write_kit(context, pair_with_new_inputs(context, answers, seed), written.back());
  }
  return written;
}

BenchmarkPair pair_of_kit(const BenchmarkPair& pair, const std::filesystem::path& kit) {
  PairedStates test;
  for (const auto& [name, states] :
       {std::pair("test_x0.npy", &test.x0), std::pair("test_x1.npy", &test.x1)}) {
    const std::string file = (kit / name).string();
    *states = load_states(file);
    try {
      check_states(file, *states, pair.dim(), pair.num_categories());
    } catch (const InvalidArgument& error) {
      throw FileError(error.what());
    }
    if (states->rows() != kTestSetSize) {
      throw_file(file, "expected {} rows, found {}", kTestSetSize, states->rows());
    }
  }
  BenchmarkPair asked = pair;
  asked.store_test_set(std::move(test));
  return asked;
}

std::uint64_t seed_of_new_answers(std::uint64_t evaluation_seed) {
  constexpr std::uint64_t kNewAnswers = 2;  // 1 is that of the ceilings
  return derive_seed(evaluation_seed, kNewAnswers);
}

std::vector<std::string> judge_new_answers(const Context& context,
                                           const std::filesystem::path& submission,
                                           const SolverFile& solver, std::uint64_t seed,
                                           const std::filesystem::path& folder) {
  std::vector<std::string> lines;
  for (const SubmittedAnswers& answers : solver.predictions) {
    const std::string name = answers_folder(answers);
    judge(context, submission / name, answers, seed, folder / name, lines);
  }
  return lines;
}

std::string agreement_text(const SolverFile& solver, std::uint64_t seed,
                           const std::filesystem::path& folder) {
  constexpr std::size_t kInputs = (kTestSetSize + kConditionalStride - 1) / kConditionalStride;
  std::string text = fmt::format(
      "the answers in {} to the inputs of seed {} agree with the submission, as those of its "
      "solver "
      "do; each check refuses that one less often than {}\n",
      message_text(folder.string()), seed, kFalseAlarmRate);
  for (const SubmittedAnswers& answers : solver.predictions) {
    const bool states = answers.sha256.contains("pred_log_conditional.npy");
    text += fmt::format("  {}: {} new test inputs and {} conditional ones, {}\n",
                        message_text(answers_folder(answers)), kTestSetSize, kInputs,
                        states ? "draws and stated probabilities" : "draws");
  }
  return text;
}

}  // namespace bridgemark
