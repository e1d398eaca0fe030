#include "bridgemark/report/answer_pictures.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bridgemark/report/row_pictures.h"

namespace bridgemark {

namespace {

using nlohmann::json;

// An alphabet with a letter for each category; empty for any other pair.
std::string alphabet_of(const BenchmarkPair& pair) {
  if (pair.identity().origin.empty()) return "";
  const json origin = json::parse(pair.identity().origin, nullptr, false);
  if (!origin.is_object() || !origin.contains("alphabet") || !origin["alphabet"].is_string()) {
    return "";
  }
  const auto alphabet = origin["alphabet"].get<std::string>();
  const bool plain = std::ranges::all_of(alphabet, [](char c) { return c >= ' ' && c <= '~'; });
  return plain && alphabet.size() == static_cast<std::size_t>(pair.num_categories()) ? alphabet
                                                                                     : "";
}

// Three decimals are finer than a shade of grey.
double shade(double value) { return std::round(value * 1000.0) / 1000.0; }

}  // namespace

json row_form(const BenchmarkPair& pair) {
  if (const std::string alphabet = alphabet_of(pair); !alphabet.empty()) {
    json letters = json::array();
    for (const char letter : alphabet) letters.push_back(std::string(1, letter));
    return {{"letters", letters}};
  }
  const std::size_t side = image_side(pair.dim());
  const TreeShape* const tree = pair.bridge().tree();
  if (side == 0 || tree == nullptr || *tree != TreeShape::quadtree(side)) return nullptr;
  const bool ordered = pair.bridge().process().kind() == ReferenceKind::kGaussian;
  const CategoryColours colours{pair.num_categories(), ordered};
  json list = json::array();
  for (int s = 0; s < pair.num_categories(); ++s) list.push_back(colours.of(s));
  return {{"side", side}, {"ordered", ordered}, {"colours", list}};
}

json pictured_draws(StatesView draws, std::size_t each) {
  json inputs = json::array();
  for (std::size_t first = 0; first < draws.rows; first += each) {
    json rows = json::array();
    for (std::size_t i = first; i < first + std::min(each, kPicturedDraws); ++i) {
      rows.push_back(std::vector<std::int32_t>(draws.row(i), draws.row(i) + draws.cols));
    }
    inputs.push_back(std::move(rows));
  }
  return inputs;
}

json pictured_truth(const Array3<double>& log_marginals, bool ordered) {
  json centre = json::array(), spread = json::array();
  for (std::size_t i = 0; i < log_marginals.extent(0); ++i) {
    json centres = json::array(), spreads = json::array();
    for (std::size_t d = 0; d < log_marginals.extent(1); ++d) {
      const double* const law = log_marginals.row(i, d);
      const std::size_t S = log_marginals.extent(2);
      if (!ordered) {
        const auto most = static_cast<std::size_t>(std::max_element(law, law + S) - law);
        centres.push_back(most);
        spreads.push_back(shade(std::exp(law[most])));
        continue;
      }
      double mean = 0.0, variance = 0.0;
      for (std::size_t s = 0; s < S; ++s) mean += std::exp(law[s]) * static_cast<double>(s);
      for (std::size_t s = 0; s < S; ++s) {
        const double apart = static_cast<double>(s) - mean;
        variance += std::exp(law[s]) * apart * apart;
      }
      centres.push_back(shade(mean));
      spreads.push_back(shade(std::sqrt(variance)));
    }
    centre.push_back(std::move(centres));
    spread.push_back(std::move(spreads));
  }
  if (ordered) return {{"mean", centre}, {"deviation", spread}};
  return {{"likeliest", centre}, {"share", spread}};
}

json truth_pictures(const BenchmarkPair& pair, StatesView inputs, StatesView truth_draws,
                    std::size_t each, const Array3<double>& log_marginals) {
  json pictures = row_form(pair);
  if (pictures.is_null()) return pictures;
  pictures.update(pictured_truth(log_marginals, pictures.value("ordered", false)));
  pictures["x0"] = pictured_draws(inputs, 1);
  pictures["truth"] = pictured_draws(truth_draws, each);
  return pictures;
}

}  // namespace bridgemark
