#include "bridgemark/report/board/board_pictures.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bridgemark/experiment/figure_inputs.h"
#include "bridgemark/pair/data_presets/data_presets.h"
#include "bridgemark/report/answer_pictures.h"

namespace bridgemark {

namespace {

using nlohmann::json;

constexpr std::size_t kInputs = 3;
constexpr std::uint64_t kSeed = 0;

json pictures_of(const BenchmarkPair& pair) {
  const Context context;
  const States x0 = pair.sample_x0(context, kInputs, kSeed),
               repeated = repeat_rows(x0, kPicturedDraws);
  States x1(repeated.rows(), repeated.cols());
  pair.bridge().sample(context, repeated, {kSeed, DrawPurpose::kTruthSample}, 0, x1);
  Array3<double> log_marginals;
  pair.bridge().log_marginals(context, x0, log_marginals);
  return truth_pictures(pair, x0, x1, kPicturedDraws, log_marginals);
}

}  // namespace

json board_pictures(const std::vector<RunResult>& results) {
  json figures = json::array();
  for (const PairSpec& spec : data_preset_specs()) {
    if (std::ranges::none_of(results, [&](const auto& one) { return one.pair == spec.name; })) {
      continue;
    }
    json pictures = pictures_of(build_data_preset(spec));
    if (pictures.is_null()) continue;
    figures.push_back(
        {{"pair", spec.name}, {"pictures", std::move(pictures)}, {"methods", json::array()}});
  }
  return figures;
}

}  // namespace bridgemark
