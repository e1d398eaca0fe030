#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/score_spec.h"

// What is said of a sampler on data, where there is no truth. Comparisons, their texts and pages
// read it here.
namespace bridgemark {

// The names of these scores, as files have them.
inline constexpr char kHeldOutObjective[] = "held_out_objective";
inline constexpr const auto& kDataShape = kShapeScore;
inline constexpr const auto& kDataTrend = kTrendScore;
inline constexpr const auto& kDataTrendOffdiagonal = kTrendOffdiagonal;
inline constexpr const auto& kDataC2stAuc = kC2stAuc;
inline constexpr char kCopies[] = "copies";
inline constexpr char kNearestChanged[] = "nearest_changed";
inline constexpr char kNearestMoved[] = "nearest_moved";
inline constexpr char kTransportChanged[] = "changed";
inline constexpr char kTransportMoved[] = "moved";
inline constexpr char kReferenceKl[] = "reference_kl";
inline constexpr char kBridgeDistance[] = "bridge_distance";
inline constexpr char kCycleShape[] = "cycle_shape_score";
inline constexpr char kCycleTrend[] = "cycle_trend_score";
inline constexpr char kCycleChanged[] = "cycle_changed";

// What a score is and how it is shown.
struct DataScoreSpec {
  std::string_view name;
  std::string_view title;
  std::string_view unit = {};    // "nats", "coordinates"
  std::string_view beside = {};  // what the number beside it is; empty: there is none
  std::string_view meaning;      // a sentence or two
  std::string_view belief;       // how far it was found to be believed (results/proxies)
  Better better = Better::kNeither;
};

// In the order in which they are shown.
std::span<const DataScoreSpec> data_score_specs();

// Null for a name that no score has.
const DataScoreSpec* find_data_score(std::string_view name);

// One score of one sampler.
struct DataScore {
  std::string name;
  MeanEstimate value;                       // mean NaN: cannot be given, `missing` says why
  std::optional<MeanEstimate> beside = {};  // what the spec says is beside it
  std::string missing = {};
  std::string note = {};  // what else a reader must know of this value
};

}  // namespace bridgemark
