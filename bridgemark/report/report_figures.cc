#include "bridgemark/report/report_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/states.h"
#include "bridgemark/experiment/added_results.h"
#include "bridgemark/experiment/figure_answers.h"
#include "bridgemark/experiment/figure_inputs.h"
#include "bridgemark/io/disk/paths.h"
#include "bridgemark/io/npy.h"
#include "bridgemark/metric/score_spec.h"
#include "bridgemark/pair/pair_record.h"
#include "bridgemark/pair/pair_spec.h"
#include "bridgemark/report/answer_pictures.h"
#include "bridgemark/report/page_data.h"
#include "bridgemark/report/tables/tables.h"
#include "bridgemark/solver/core/training_log.h"
#include "bridgemark/solver/core/validation.h"
#include "bridgemark/solver/outside/outside_solver.h"
#include "bridgemark/solver/run/run.h"
#include "bridgemark/solver/run/run_files.h"
#include "bridgemark/solver/run/run_pair.h"

namespace bridgemark {

namespace {

using nlohmann::json;

constexpr std::size_t kPoints = kAddedSamples;  // of a cloud
constexpr std::size_t kCurvePoints = 300;

json point(const Projection& projection, const std::int32_t* state) {
  const std::array<double, 2> at = projection.place(state);
  if (projection.is_whole()) return {state[0], static_cast<int>(at[1])};
  // Two decimals of a category are finer than a pixel.
  return {std::round(at[0] * 100.0) / 100.0, std::round(at[1] * 100.0) / 100.0};
}

json points(const Projection& projection, StatesView states) {
  json list = json::array();
  for (std::size_t i = 0; i < states.rows; ++i) list.push_back(point(projection, states.row(i)));
  return list;
}

// Empty for an id that is no name of a folder there: results may come from anybody.
std::filesystem::path run_folder(const std::filesystem::path& folder, const RunResult& result) {
  const bool name = !result.run.empty() && result.run != "." && result.run != ".." &&
                    result.run.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  return name ? folder / "runs" / result.run : std::filesystem::path();
}

// Draws of x1 given each row of x0, kFigureDraws after each other.
States conditional_draws(const Context& context, const Coupling& coupling, StatesView x0,
                         std::uint64_t seed) {
  const States repeated = repeat_rows(x0, kFigureDraws);
  States x1(repeated.rows(), x0.cols);
  // The rows after those of the cloud.
  coupling.sample(context, repeated, {seed, DrawPurpose::kPrediction}, kPoints, x1);
  return x1;
}

// Two coordinates of a state: of many those that tell the truth's conditionals apart best, by the
// share of the variance that lies between the means of the inputs. log_marginals is the truth's
// [inputs, D, S].
class Coordinates {
 public:
  explicit Coordinates(const Array3<double>& log_marginals) : dim_(log_marginals.extent(1)) {
    std::vector<double> between(dim_);
    for (std::size_t d = 0; d < dim_; ++d) between[d] = share_between(log_marginals, d);
    std::vector<std::size_t> order(dim_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (dim_ > 2) {
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return between[a] > between[b]; });
    }
    shown_ = {order[0], order[dim_ == 1 ? 0 : 1]};
  }

  json point(const std::int32_t* state) const {
    return {state[shown_[0]], dim_ == 1 ? 0 : state[shown_[1]]};
  }

  json points(StatesView states) const {
    json list = json::array();
    for (std::size_t i = 0; i < states.rows; ++i) list.push_back(point(states.row(i)));
    return list;
  }

  // [[[x,y]..] for each input] of as many draws each, one input after the other.
  json clouds(StatesView draws, std::size_t each) const {
    json list = json::array();
    for (std::size_t first = 0; first < draws.rows; first += each) {
      list.push_back(points(draws.slice(first, each)));
    }
    return list;
  }

  const std::array<std::size_t, 2>& shown() const { return shown_; }

 private:
  static double share_between(const Array3<double>& log_marginals, std::size_t d) {
    const auto inputs = static_cast<double>(log_marginals.extent(0));
    double mean = 0.0, square = 0.0, between = 0.0;
    for (std::size_t i = 0; i < log_marginals.extent(0); ++i) {
      double own = 0.0;  // mean of the input
      for (std::size_t s = 0; s < log_marginals.extent(2); ++s) {
        const double value = static_cast<double>(s), p = std::exp(log_marginals(i, d, s));
        own += p * value;
        square += p * value * value / inputs;
      }
      mean += own / inputs;
      between += own * own / inputs;
    }
    const double variance = square - mean * mean;
    return variance > 0.0 ? (between - mean * mean) / variance : 0.0;
  }

  std::size_t dim_;
  std::array<std::size_t, 2> shown_;
};

// Of paths [paths, num_steps + 1, D].
json paths_json(const Array3<std::int32_t>& drawn, const Coordinates& coordinates) {
  json paths = json::array();
  const std::size_t steps = drawn.extent(1) - 1;
  for (std::size_t i = 0; i < drawn.extent(0); ++i) {
    json path = json::array();
    for (std::size_t n = 0; n <= steps; ++n) {
      const std::int32_t* state = drawn.row(i, n);
      if (drawn.extent(2) <= 2) {
        path.push_back(coordinates.point(state));
      } else {
        path.push_back(
            {static_cast<double>(n) / static_cast<double>(steps), state[coordinates.shown()[0]]});
      }
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

json trajectories(const Context& context, const Coupling& coupling, int num_steps,
                  StatesView starts, const Coordinates& coordinates) {
  if (!coupling.has_transitions(num_steps)) return json::array();
  return paths_json(figure_paths(context, coupling, num_steps, starts), coordinates);
}

// The points and paths of one method.
struct MethodFigure {
  json samples;
  json trajectories = json::array();
  json conditional = json::array();
  json pictured = json::array();
};

// What an outside solver left when it was added.
MethodFigure added_figure(const BenchmarkPair& pair, const std::filesystem::path& folder,
                          const RunResult& result, const Projection& projection,
                          const Coordinates& coordinates) {
  const FigureAnswers kept = load_figure_answers(pair, added_folder(folder, result));
  MethodFigure figure = {
      points(projection, kept.samples.view().slice(0, std::min(kPoints, kept.samples.rows())))};
  if (kept.conditional.size() > 0) {
    const auto& kept_draws = kept.conditional;
    const std::size_t each = kept_draws.extent(1);
    const StatesView draws{kept_draws.data(), kept_draws.extent(0) * each, kept_draws.extent(2)};
    figure.conditional = coordinates.clouds(draws, each);
    figure.pictured = pictured_draws(draws, each);
  }
  if (kept.trajectories.size() > 0) {
    figure.trajectories = paths_json(kept.trajectories, coordinates);
  }
  return figure;
}

MethodFigure run_figure(const Context& context, const BenchmarkPair& pair,
                        const std::filesystem::path& folder, const RunResult& result,
                        StatesView cloud, const FigureInputs& inputs, const Projection& projection,
                        const Coordinates& coordinates) {
  const std::shared_ptr<const Coupling> coupling =
      load_run(context, pair, run_folder(folder, result));
  States x1(cloud.rows, pair.dim());
  coupling->sample(context, cloud, {kFigureSeed, DrawPurpose::kPrediction}, 0, x1);
  const States draws = conditional_draws(context, *coupling, inputs.conditional, kFigureSeed);
  return {points(projection, x1),
          trajectories(context, *coupling, result.evaluation_num_steps, inputs.starts, coordinates),
          coordinates.clouds(draws, kFigureDraws), pictured_draws(draws, kFigureDraws)};
}

json pair_figure(const Context& context, const std::filesystem::path& folder,
                 const std::string& name, const BenchmarkPair& pair,
                 const std::vector<const RunResult*>& runs) {
  const PairedStates test = pair.test_set(context);
  const Projection projection(test.x1);
  const std::size_t count = std::min(kPoints, test.x0.rows());
  const StatesView x0 = test.x0.view().slice(0, count);
  const FigureInputs inputs = figure_inputs(test, projection);
  const std::shared_ptr<const Coupling> truth = pair.require_truth(context);
  Array3<double> log_marginals;
  truth->log_marginals(context, inputs.conditional, log_marginals);
  const Coordinates coordinates(log_marginals);
  const States truth_draws =
      conditional_draws(context, *truth, inputs.conditional, kFigureSeed + 1);
  const json pictures =
      truth_pictures(pair, inputs.conditional, truth_draws, kFigureDraws, log_marginals);
  json methods = json::array();
  std::set<std::array<std::string, 4>> shown;
  for (const RunResult* result : runs) {
    // The first run of a method and number of training rows is drawn.
    if (!shown
             .insert({result->method, result->loss, result->num_steps,
                      std::to_string(result->rows.samples)})
             .second) {
      continue;
    }
    const MethodFigure figure =
        result->solver == kOutsideSolver
            ? added_figure(pair, folder, *result, projection, coordinates)
            : run_figure(context, pair, folder, *result, x0, inputs, projection, coordinates);
    methods.push_back({{"method", result->method},
                       {"loss", result->loss},
                       {"num_steps", result->num_steps},
                       {"training_rows", result->rows.samples},
                       {"of_every_number", is_of_every_number(*result)},
                       {"run", result->run},
                       {"oracle", result->solver == "oracle"},
                       {"conditional", figure.conditional},
                       {"pictured", pictures.is_null() ? json() : figure.pictured},
                       {"samples", figure.samples},
                       {"trajectories", figure.trajectories}});
  }
  return {{"pair", name},
          {"dim", pair.dim()},
          {"projection", projection.is_whole() ? "coordinates" : "pca"},
          {"explained", projection.explained()},
          {"input", points(projection, x0)},
          {"target", points(projection, test.x1.view().slice(0, count))},
          {"coordinates", coordinates.shown()},
          {"conditional",
           {{"x0", coordinates.points(inputs.conditional)},
            {"truth", coordinates.clouds(truth_draws, kFigureDraws)}}},
          {"pictures", pictures},
          {"methods", methods}};
}

}  // namespace

bool has_model(const std::filesystem::path& folder, const RunResult& result) {
  const std::filesystem::path run = run_folder(folder, result);
  if (run.empty()) return false;
  return result.solver == kOutsideSolver
             ? path_exists(added_folder(folder, result) / kAddedSamplesFile)
             : is_library_solver(result.solver) && is_complete_run(run);
}

std::shared_ptr<const Coupling> find_model(const Context& context, const BenchmarkPair& pair,
                                           const std::filesystem::path& folder,
                                           const RunResult& result) {
  if (result.solver == kOutsideSolver || !has_model(folder, result)) return nullptr;
  return load_run(context, pair, run_folder(folder, result));
}

std::optional<BenchmarkPair> find_pair(const std::filesystem::path& folder,
                                       const RunResult& result) {
  if (find_preset(result.pair)) return load_pair(result.pair);
  const std::filesystem::path run = run_folder(folder, result);
  if (result.solver != kOutsideSolver && path_exists(run / kRunConfig)) {
    return find_pair_of_run(load_run_config(run), run, result.pair_identity);
  }
  if (!is_folder(result.pair)) return std::nullopt;
  BenchmarkPair pair = load_pair(result.pair);
  if (!same_pair(pair_record(pair), result.pair_identity)) return std::nullopt;
  return pair;
}

json report_figures(const Context& context, const std::filesystem::path& folder,
                    const std::vector<RunResult>& results) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const RunResult*>> by_pair;
  for (const RunResult& result : results) {
    const bool reversed = result.pair_identity.value("reverse", false);
    if (reversed || !has_model(folder, result)) continue;
    if (!by_pair.contains(result.pair)) order.push_back(result.pair);
    by_pair[result.pair].push_back(&result);
  }
  json figures = json::array();
  for (const std::string& pair : order) {
    const std::vector<const RunResult*>& runs = by_pair[pair];
    // An experiment's own run knows more places of it than an added result.
    std::optional<BenchmarkPair> found;
    for (const RunResult* run : runs) {
      if (!found) found = find_pair(folder, *run);
    }
    if (found) {
      figures.push_back(pair_figure(context, folder, pair, *found, runs));
    }
    context.report("figures", figures.size(), order.size());
  }
  return figures;
}

namespace {

// At most kCurvePoints of them, evenly, the last one included.
json thinned(const std::vector<json>& points) {
  json kept = json::array();
  const std::size_t stride = (points.size() + kCurvePoints - 1) / kCurvePoints;
  for (std::size_t i = (points.size() - 1) % stride; i < points.size(); i += stride) {
    kept.push_back(points[i]);
  }
  return kept;
}

// On rows held out, to be compared with the loss of a log's line; null where the line has none. A
// bridge's objective is a loss with the other sign.
json held_out_loss(const LogLine& line) {
  const json fields = json::parse(line.text);
  const auto number = [&](const char* key) { return fields.value(key, json()).is_number(); };
  if (number("held_out_loss")) return fields["held_out_loss"];
  if (number("held_out")) return -fields["held_out"].get<double>();
  return nullptr;
}

// The score against the truth of lines that have one, the same in all of them; else null.
json validation_points(const std::vector<LogLine>& lines) {
  std::vector<json> points;
  const ScoreSpec* score = nullptr;
  for (const LogLine& line : lines) {
    const json fields = json::parse(line.text);
    const auto spec = std::ranges::find_if(score_specs(), [&](const ScoreSpec& candidate) {
      return fields.value(candidate.name, json()).is_number();
    });
    if (spec == score_specs().end()) continue;
    score = &*spec;
    points.push_back({line.update, line.seconds, fields[score->name],
                      fields.value(validation_error_key(score->name), json())});
  }
  if (points.empty()) return nullptr;
  json curve = score_json(*score);
  curve["points"] = thinned(points);
  return curve;
}

}  // namespace

json training_curves(const std::filesystem::path& folder, const std::vector<RunResult>& results) {
  json curves = json::array();
  for (const RunResult& result : results) {
    const std::filesystem::path run = run_folder(folder, result);
    if (run.empty() || !path_exists(run / kRunLog)) continue;
    const std::vector<LogLine> lines = read_training_log(run / kRunLog);
    std::vector<json> points;
    for (const LogLine& line : lines) {
      points.push_back({line.update, line.loss, line.seconds, held_out_loss(line)});
    }
    if (points.empty()) continue;
    curves.push_back({{"run", result.run},
                      {"method", result.method},
                      {"solver", result.solver},
                      {"pair", result.pair},
                      {"loss", result.loss},
                      {"num_steps", result.num_steps},
                      {"samples", result.rows.samples},
                      {"training_set", result.rows.training_set},
                      {"seed", result.seed},
                      {"points", thinned(points)},
                      {"validation", validation_points(lines)}});
  }
  return curves;
}

}  // namespace bridgemark
