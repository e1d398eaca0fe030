#pragma once

#include <filesystem>
#include <memory>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/pair/benchmark_pair.h"
#include "bridgemark/pair/training_set.h"

namespace bridgemark {

// The files of an outside solver's answers; the last three are optional.
inline constexpr char kAnswersFile[] = "pred_x1.npy";
inline constexpr char kConditionalAnswersFile[] = "pred_conditional_x1.npy";
inline constexpr char kLogMarginalsFile[] = "pred_log_marginals.npy";
inline constexpr char kLogConditionalFile[] = "pred_log_conditional.npy";
inline constexpr char kLogAnswersFile[] = "pred_log_answers.npy";

// Rows of the two inputs that an outside solver answers.
struct KitRows {
  std::size_t test;
  std::size_t conditional;
};

// What an outside solver needs, as int32 files in a folder: test_x0.npy and test_x1.npy
// [test rows, D], conditional_x0.npy [conditional inputs, D]. With a training set also train_x0.npy
// and train_x1.npy [samples, D], unpaired, and kit.json, which says of which pair and set they are.
KitRows write_kit(const Context& context, const BenchmarkPair& pair,
                  const std::filesystem::path& folder, const TrainingRows& rows = {});

// The answers of an outside solver as a coupling: one x1 [test rows, D] for each row of the test
// set and conditional_samples [conditional inputs * conditional_samples, D] for each conditional
// input. It can only answer the draws of the protocol with that many conditional samples. Throws
// InvalidArgument that says what was expected and found.
std::unique_ptr<Coupling> make_predictions(const Context& context, const BenchmarkPair& pair,
                                           States x1, States conditional_x1,
                                           std::size_t conditional_samples = kConditionalSamples);

// The same from pred_x1.npy [test rows, D] and pred_conditional_x1.npy [conditional inputs,
// conditional_samples, D]. A solver that knows its probabilities may add numbers of any dtype:
//   pred_log_marginals.npy [conditional inputs, D, S]: log q(x1^d = s | x0) for each conditional
//     input, behind exact_conditional_shape_score;
//   pred_log_conditional.npy [test rows]: log q(x1|x0) of the test rows, behind joint_kl;
//   pred_log_answers.npy [test rows]: the same of pred_x1.npy, which a submission needs beside it.
// Throws FileError that says what was expected and found.
std::unique_ptr<Coupling> load_predictions(const Context& context, const BenchmarkPair& pair,
                                           const std::filesystem::path& folder,
                                           std::size_t conditional_samples = kConditionalSamples);

}  // namespace bridgemark
