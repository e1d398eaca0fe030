#include "bridgemark/solver/gamma/gamma_scan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/core/resources.h"
#include "bridgemark/core/terminal_text.h"
#include "bridgemark/core/version.h"
#include "bridgemark/metric/own_data/comparison_json.h"
#include "bridgemark/metric/own_data/comparison_text.h"
#include "bridgemark/process/gamma_proposal.h"

namespace bridgemark {

namespace {

constexpr const char* kColumns =
    "reference: how far the reference alone leads from x0; 0 stays, 1 forgets it\n"
    "x0 tells: share of the entropy of single coordinates of x1 that x0 takes away, under the "
    "bridge\n"
    "H(x1|x0): entropy of the answers to one x0, nats\n"
    "cost: how far an answer lies from its x0, over the same of unpaired rows; {}\n"
    "path KL: of the bridge's paths from the reference's, nats\n"
    "shape: overlap of single coordinates of the answers with held-out x1; training rows reach {}";

std::string gamma_text(double gamma) { return fmt::format("{:.3g}", gamma); }

bool has_order(const GammaScan& scan) { return scan.reference == "gaussian"; }

std::string told_text(const MeanEstimate& told) {
  return std::isnan(told.mean) ? "-"
                               : fmt::format("{:.3f} ± {:.3f}", told.mean, told.standard_error);
}

// One cell after another, each as wide as its column but the last.
std::string row_text(const std::string& gamma, const std::string& reference,
                     const std::string& told, const std::string& entropy, const std::string& cost,
                     const std::string& path, const std::string& last) {
  return fmt::format("{:>9} {:>10}  {:<15}{:<16}{:<7}{:<18}{}", gamma, reference, told, entropy,
                     cost, path, last);
}

std::string point_line(const GammaPoint& point) {
  const std::string gamma = gamma_text(point.gamma),
                    reference = fmt::format("{:.3f}", point.movement_share);
  if (!point.failure.empty()) {
    return fmt::format("{:>9} {:>10}  no bridge: {}", gamma, reference, point.failure);
  }
  return row_text(
      gamma, reference, told_text(point.told), estimate_text(point.conditional_entropy),
      std::isnan(point.relative_cost) ? "-" : fmt::format("{:.3f}", point.relative_cost),
      estimate_text(point.scores.score(kReferenceKl).value),
      estimate_text(point.scores.score(kDataShape).value) + (point.fits ? "" : "  does not fit"));
}

// Of the bridges that there are; the training rows are the same.
std::string ceiling_text(const GammaScan& scan) {
  for (const GammaPoint& point : scan.points) {
    if (!point.failure.empty()) continue;
    if (const DataScore& shape = point.scores.score(kDataShape); shape.beside) {
      return estimate_text(*shape.beside);
    }
  }
  return "-";
}

nlohmann::json point_json(const GammaPoint& point) {
  const bool made = point.failure.empty();
  nlohmann::json object = {
      {"gamma", point.gamma},
      {"movement_share", point.movement_share},
      {"told", number_json(point.told.mean)},
      {"told_standard_error", number_json(point.told.standard_error)},
      {"conditional_entropy", number_json(point.conditional_entropy.mean)},
      {"conditional_entropy_standard_error", number_json(point.conditional_entropy.standard_error)},
      {"relative_cost", made ? number_json(point.relative_cost) : nullptr},
      {"fits", point.fits},
      {"failure", nullptr},
      {"scores", nullptr}};
  if (made) {
    object["scores"] = data_scores_json(point.scores);
  } else {
    object["failure"] = point.failure;
  }
  return object;
}

}  // namespace

std::vector<std::string> gamma_sentences(const GammaScan& scan) {
  std::vector<std::string> sentences = {fmt::format(
      "Rows of two ends cannot choose gamma: every gamma has a bridge that fits both of them, and "
      "held-out objectives over different gammas do not compare. Gamma says how much of x0 is to "
      "be kept.")};
  sentences.push_back(
      fmt::format("Proposed, by the number of categories alone: gamma {}, at which the {} "
                  "reference leads {:.2g} "
                  "of the way from staying to forgetting x0.",
                  gamma_text(scan.proposed), scan.reference, kProposedShare));
  if (scan.half_told) {
    const GammaPoint& most = scan.points[*scan.most_told];
    sentences.push_back(fmt::format(
        "By these rows: at gamma {} x0 tells half of the most that it tells at any of these that "
        "fits, {:.2g} of the entropy at gamma {}.",
        gamma_text(*scan.half_told), most.told.mean, gamma_text(most.gamma)));
  } else {
    sentences.push_back(
        "By these rows: no two neighbours that fit have half of the most that x0 tells between "
        "them; other gammas may.");
  }
  return sentences;
}

std::string gamma_scan_text(const GammaScan& scan) {
  std::string text = fmt::format(
      "{} and {} rows fitted by {} ({}), {} and {} held-out rows of x0 and x1 shown; D = {}, S = "
      "{}, {} reference of {} steps\n\n{}",
      scan.training_x0_rows, scan.training_x1_rows, scan.solver,
      terminal_text(fmt::format("{}", fmt::join(scan.settings, " "))), scan.x0_rows, scan.x1_rows,
      scan.dim, scan.num_categories, scan.reference, scan.total_steps,
      row_text("gamma", "reference", "x0 tells", "H(x1|x0)", "cost", "path KL", "shape"));
  for (const GammaPoint& point : scan.points) text += "\n" + point_line(point);
  text += "\n\n" + fmt::format(fmt::runtime(kColumns),
                               has_order(scan) ? "in categories" : "in coordinates changed",
                               ceiling_text(scan));
  for (const std::string& sentence : gamma_sentences(scan)) text += "\n\n" + sentence;
  return text;
}

nlohmann::json gamma_scan_json(const GammaScan& scan) {
  nlohmann::json points = nlohmann::json::array();
  for (const GammaPoint& point : scan.points) points.push_back(point_json(point));
  nlohmann::json most = nullptr, half = nullptr;
  if (scan.most_told) most = scan.points[*scan.most_told].gamma;
  if (scan.half_told) half = *scan.half_told;
  return {{"reference", scan.reference},
          {"num_categories", scan.num_categories},
          {"dim", scan.dim},
          {"total_steps", scan.total_steps},
          {"solver", scan.solver},
          {"settings", scan.settings},
          {"seed", scan.seed},
          {"training_x0_rows", scan.training_x0_rows},
          {"training_x1_rows", scan.training_x1_rows},
          {"x0_rows", scan.x0_rows},
          {"x1_rows", scan.x1_rows},
          {"proposed", scan.proposed},
          {"most_told", most},
          {"half_told", half},
          {"sentences", gamma_sentences(scan)},
          {"warnings", scan.warnings},
          {"points", std::move(points)}};
}

nlohmann::json gamma_scan_record(const Context& context, const GammaScan& scan, double seconds) {
  nlohmann::json json = gamma_scan_json(scan);
  json["version"] = kVersion;
  json["device"] = std::string(device_name(context.device));
  json["machine"] = backend::of(context).machine();
  json["wall_seconds"] = seconds;
  json["peak_memory_bytes"] = peak_memory_bytes();
  return json;
}

}  // namespace bridgemark
