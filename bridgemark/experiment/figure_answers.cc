#include "bridgemark/experiment/figure_answers.h"

#include <algorithm>
#include <span>
#include <system_error>

#include "bridgemark/core/states.h"
#include "bridgemark/experiment/figure_inputs.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/npy.h"

namespace bridgemark {

namespace {

std::span<const std::int32_t> values(const States& states) {
  return {states.data(), states.size()};
}

// The first draws of each conditional input of the figures, asked for as the protocol does.
States first_draws(const Context& context, const Coupling& coupling, std::uint64_t seed,
                   const FigureInputs& inputs, std::size_t asked, std::size_t kept) {
  const std::size_t D = inputs.conditional.cols();
  States draws(inputs.conditional.rows() * kept, D), x1(asked, D);
  for (std::size_t i = 0; i < inputs.conditional.rows(); ++i) {
    const States x0 = repeat_rows(inputs.conditional.view().slice(i, 1), asked);
    coupling.sample(context, x0, {seed, DrawPurpose::kConditionalPrediction},
                    inputs.conditional_rows[i] * asked, x1);
    std::copy_n(x1.data(), kept * D, draws.row(i * kept));
  }
  return draws;
}

Array3<std::int32_t> load_checked(const BenchmarkPair& pair, const std::filesystem::path& path) {
  if (!path_exists(path)) return {};
  Array3<std::int32_t> states = load_states3(path);
  check_states(path.string(),
               StatesView{states.data(), states.extent(0) * states.extent(1), states.extent(2)},
               pair.dim(), pair.num_categories());
  return states;
}

}  // namespace

void save_figure_answers(const Context& context, const BenchmarkPair& pair,
                         const Coupling& coupling, std::uint64_t seed,
                         std::size_t conditional_samples, int num_steps,
                         const std::filesystem::path& folder) {
  const PairedStates test = pair.test_set(context);
  const std::size_t rows = std::min(kAddedSamples, test.x0.rows());
  States x1(rows, pair.dim());
  coupling.sample(context, test.x0.view().slice(0, rows), {seed, DrawPurpose::kPrediction}, 0, x1);
  save_npy(folder / kAddedSamplesFile, {rows, pair.dim()}, values(x1));

  const FigureInputs inputs = figure_inputs(test, Projection(test.x1));
  const std::size_t kept = std::min(kFigureDraws, conditional_samples);
  save_npy(folder / kAddedConditionalFile, {inputs.conditional.rows(), kept, pair.dim()},
           values(first_draws(context, coupling, seed, inputs, conditional_samples, kept)));

  if (!coupling.has_transitions(num_steps)) {
    std::error_code none;
    std::filesystem::remove(folder / kAddedTrajectoriesFile, none);  // of an earlier one
    return;
  }
  const Array3<std::int32_t> paths = figure_paths(context, coupling, num_steps, inputs.starts);
  save_npy(folder / kAddedTrajectoriesFile, {paths.extent(0), paths.extent(1), paths.extent(2)},
           std::span<const std::int32_t>(paths.data(), paths.size()));
}

FigureAnswers load_figure_answers(const BenchmarkPair& pair, const std::filesystem::path& folder) {
  FigureAnswers answers;
  answers.samples = load_states(folder / kAddedSamplesFile);
  check_states((folder / kAddedSamplesFile).string(), answers.samples, pair.dim(),
               pair.num_categories());
  answers.conditional = load_checked(pair, folder / kAddedConditionalFile);
  if (answers.conditional.extent(0) > kFigureConditionals) answers.conditional = {};
  answers.trajectories = load_checked(pair, folder / kAddedTrajectoriesFile);
  const Array3<std::int32_t>& paths = answers.trajectories;
  if (paths.extent(0) > kFigureStarts * kPathsEach || paths.extent(1) < 2) {
    answers.trajectories = {};
  }
  return answers;
}

}  // namespace bridgemark
