#include "bridgemark/metric/own_data/comparison_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/clock.h"
#include "bridgemark/core/resources.h"
#include "bridgemark/core/version.h"

namespace bridgemark {

nlohmann::json number_json(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0.0 ? "inf" : "-inf";
  return value;
}

namespace {

nlohmann::json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

nlohmann::json overlap_json(const RowOverlap& overlap) {
  return {{"rows", overlap.rows},           {"known", overlap.known},
          {"share", overlap.share()},       {"share_by_chance", overlap.share_by_chance},
          {"same_rows", overlap.same_rows}, {"trained_on", overlap.trained_on}};
}

nlohmann::json score_json(const DataScore& score) {
  nlohmann::json object = {{"value", number_json(score.value.mean)},
                           {"standard_error", number_json(score.value.standard_error)},
                           {"missing", text_or_null(score.missing)},
                           {"note", text_or_null(score.note)},
                           {"beside", nullptr},
                           {"beside_standard_error", nullptr}};
  if (score.beside) {
    object["beside"] = number_json(score.beside->mean);
    object["beside_standard_error"] = number_json(score.beside->standard_error);
  }
  return object;
}

nlohmann::json contestant_json(const ContestantScores& contestant) {
  nlohmann::json overlap = nullptr;
  if (contestant.x0_overlap && contestant.x1_overlap) {
    overlap = {{"x0", overlap_json(*contestant.x0_overlap)},
               {"x1", overlap_json(*contestant.x1_overlap)}};
  }
  return {{"name", contestant.name},
          {"reference", text_or_null(contestant.reference)},
          {"training_x0_rows", contestant.training_x0_rows},
          {"training_x1_rows", contestant.training_x1_rows},
          {"trained_on_endless_draws", contestant.trained_on_endless_draws},
          {"overlap", overlap},
          {"scores", data_scores_json(contestant)}};
}

const char* better_text(Better better) {
  if (better == Better::kNeither) return "neither";
  return better == Better::kHigher ? "higher" : "lower";
}

nlohmann::json meanings_json() {
  nlohmann::json meanings = nlohmann::json::object();
  for (const DataScoreSpec& spec : data_score_specs()) {
    meanings[std::string(spec.name)] = {{"title", spec.title},
                                        {"unit", text_or_null(std::string(spec.unit))},
                                        {"beside", text_or_null(std::string(spec.beside))},
                                        {"better", better_text(spec.better)},
                                        {"meaning", spec.meaning},
                                        {"belief", spec.belief}};
  }
  return meanings;
}

}  // namespace

nlohmann::json data_scores_json(const ContestantScores& contestant) {
  nlohmann::json scores = nlohmann::json::object();
  for (const DataScore& score : contestant.scores) scores[score.name] = score_json(score);
  return scores;
}

nlohmann::json comparison_json(const DataComparison& comparison) {
  nlohmann::json runs = nlohmann::json::array(), differences = nlohmann::json::array();
  for (const ContestantScores& contestant : comparison.contestants) {
    runs.push_back(contestant_json(contestant));
  }
  for (const ContestantDifference& each : comparison.differences) {
    differences.push_back({{"first", each.first},
                           {"second", each.second},
                           {"difference", number_json(each.difference.mean)},
                           {"standard_error", number_json(each.difference.standard_error)},
                           {"told_apart", each.told_apart()},
                           {"missing", text_or_null(each.missing)}});
  }
  nlohmann::json json = {{"x0_rows", comparison.x0_rows},
                         {"x1_rows", comparison.x1_rows},
                         {"dim", comparison.dim},
                         {"num_categories", comparison.num_categories},
                         {"compared_rows", comparison.compared_rows},
                         {"seed", comparison.seed},
                         {"runs", std::move(runs)},
                         {"differences", std::move(differences)},
                         {"warnings", comparison.warnings},
                         {"meanings", meanings_json()}};
  for (const LabelComparison& each : comparison.labels) {
    nlohmann::json own = comparison_json(each.comparison);
    own.erase("meanings");
    own["label"] = each.label;
    json["labels"].push_back(std::move(own));
  }
  return json;
}

nlohmann::json DataComparisonRecord::record() const {
  nlohmann::json json = comparison_json(comparison);
  json["version"] = kVersion;
  json["device"] = device;
  json["machine"] = machine;
  json["wall_seconds"] = seconds;
  json["peak_memory_bytes"] = peak_memory_bytes();
  return json;
}

DataComparisonRecord record_comparison(const Context& context,
                                       const std::function<DataComparison()>& compare) {
  const Clock::time_point started = Clock::now();
  DataComparisonRecord record{compare(), std::string(device_name(context.device)),
                              backend::of(context).machine()};
  record.seconds = seconds_since(started);
  return record;
}

}  // namespace bridgemark
