#include "bridgemark/submission/answer_files.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "bridgemark/io/disk/atomic_file.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/metric/prediction_files.h"

namespace bridgemark {

namespace {

// States in the smallest dtype that holds them: a quarter of int32 for S up to 256.
void save_answers(const std::filesystem::path& path, const std::vector<std::size_t>& shape,
                  const States& states, int num_categories) {
  const auto write = [&]<typename T>(DType dtype, T) {
    std::vector<T> values(states.size());
    std::transform(states.data(), states.data() + states.size(), values.begin(),
                   [](std::int32_t value) { return static_cast<T>(value); });
    NpyWriter writer(path, dtype, shape);
    writer.append(values.data(), values.size() * sizeof(T));
    writer.commit();
  };
  if (num_categories <= 256) {
    write(DType::kU8, std::uint8_t{});
  } else if (num_categories <= 65536) {
    write(DType::kU16, std::uint16_t{});
  } else {
    write(DType::kI32, std::int32_t{});
  }
}

// Returns the draws of the test rows.
States write_draws(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
                   std::uint64_t seed, const PairedStates& test,
                   const std::filesystem::path& folder) {
  const std::size_t D = pair.dim(), N = kConditionalSamples;
  States answers(test.x0.rows(), D);
  coupling.sample(context, test.x0, {seed, DrawPurpose::kPrediction}, 0, answers);
  save_answers(folder / kAnswersFile, {answers.rows(), D}, answers, pair.num_categories());
  const States inputs = conditional_inputs(test.x0);
  States conditional(inputs.rows() * N, D), repeated(N, D);
  for (std::size_t i = 0; i < inputs.rows(); ++i) {
    for (std::size_t j = 0; j < N; ++j) std::copy_n(inputs.row(i), D, repeated.row(j));
    coupling.sample(context, repeated, {seed, DrawPurpose::kConditionalPrediction}, i * N,
                    {conditional.row(i * N), N, D});
    context.report("conditional answers", i + 1, inputs.rows());
  }
  save_answers(folder / kConditionalAnswersFile, {inputs.rows(), N, D}, conditional,
               pair.num_categories());
  return answers;
}

// What a coupling knows of its probabilities. An earlier file that it has nothing for goes.
void write_probabilities(const Context& context, const BenchmarkPair& pair,
                         const Coupling& coupling, const PairedStates& test, const States& answers,
                         const std::filesystem::path& folder) {
  for (const char* name : {kLogMarginalsFile, kLogConditionalFile, kLogAnswersFile}) {
    std::filesystem::remove(folder / name);
  }
  if (coupling.has_marginals()) {
    const States inputs = conditional_inputs(test.x0);
    Array3<double> log_marginals;
    coupling.log_marginals(context, inputs, log_marginals);
    save_npy(folder / kLogMarginalsFile,
             {inputs.rows(), pair.dim(), static_cast<std::size_t>(pair.num_categories())},
             std::span<const double>(log_marginals.data(), log_marginals.size()));
  }
  if (coupling.has_joint()) {
    std::vector<double> log_q(test.x0.rows());
    for (const auto& [name, x1] : {std::pair(kLogConditionalFile, test.x1.view()),
                                   std::pair(kLogAnswersFile, answers.view())}) {
      coupling.log_conditional(context, test.x0, x1, log_q);
      save_npy(folder / name, {log_q.size()}, std::span<const double>(log_q));
    }
  }
}

}  // namespace

void write_answers(const Context& context, const BenchmarkPair& pair, const Coupling& coupling,
                   std::uint64_t seed, const std::filesystem::path& folder) {
  const PairedStates test = pair.test_set(context);
  const States answered = write_draws(context, pair, coupling, seed, test, folder);
  write_probabilities(context, pair, coupling, test, answered, folder);
}

}  // namespace bridgemark
