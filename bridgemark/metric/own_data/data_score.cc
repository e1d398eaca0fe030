#include "bridgemark/metric/own_data/data_score.h"

#include <algorithm>

namespace bridgemark {

namespace {

constexpr DataScoreSpec kDataSpecs[] = {
    {.name = kHeldOutObjective,
     .title = "Held-out objective",
     .unit = "nats",
     .meaning = "Mean log v(x1) - mean log c(x0). The bridge with more is nearer to the true one, "
                "by the difference in KL; the number alone says nothing.",
     .belief = "Believe it: 99.9 % of differences beyond two errors had the true sign. Rank "
               "correlation with the true KL: 0.99 among bridges.",
     .better = Better::kHigher},
    {.name = kDataShape,
     .title = "Shape score",
     .beside = "ceiling",
     .meaning = "Overlap of single coordinates of the draws with held-out x1. The ceiling is what "
                "training rows reach. Blind to which x0 an x1 belongs to.",
     .belief = "Ranks networks, but bridges poorly. Rank correlation with the true KL: 0.20 among "
               "bridges, 0.83 among networks, 0.06 among samplers of all kinds.",
     .better = Better::kHigher},
    {.name = kDataTrend,
     .title = "Trend score",
     .beside = "ceiling",
     .meaning = "The same for pairs of coordinates, (d, d) included.",
     .belief = "Ranks roughly. Rank correlation with the true KL: 0.81 among bridges, 0.85 among "
               "networks, 0.61 among samplers of all kinds.",
     .better = Better::kHigher},
    {.name = kDataTrendOffdiagonal,
     .title = "Trend score without (d, d)",
     .beside = "ceiling",
     .meaning = "The same for pairs of different coordinates.",
     .belief = "Ranks roughly. Rank correlation with the true KL: 0.82 among bridges, 0.86 among "
               "networks, 0.65 among samplers of all kinds.",
     .better = Better::kHigher},
    {.name = kDataC2stAuc,
     .title = "C2ST AUC",
     .beside = "training rows",
     .meaning = "How well a trained classifier tells draws from held-out x1; 1/2: it cannot. Blind "
                "to which x0 an x1 belongs to.",
     .belief = "Ranks roughly, but is fooled by repeated rows. Rank correlation with the true KL: "
               "0.76 among bridges, 0.76 among networks, 0.47 among samplers of all kinds."},
    {.name = kCopies,
     .title = "Copies",
     .unit = "share",
     .beside = "held-out rows",
     .meaning = "Share of draws that are a training row of x1. More than among held-out rows: it "
                "repeats what it was trained on.",
     .belief = "Shows who repeats rows, and ranks little else. Rank correlation with the true KL: "
               "0.69 among bridges, 0.74 among samplers of all kinds."},
    {.name = kNearestChanged,
     .title = "Distance to the nearest training row",
     .unit = "coordinates",
     .beside = "held-out rows",
     .meaning = "Coordinates in which a draw differs from the nearest training row of x1. Far "
                "below that of held-out rows: it learned rows by heart.",
     .belief = "Shows who repeats rows, and follows the fit. Rank correlation with the true KL: "
               "0.86 among bridges, 0.46 among networks, 0.84 among samplers of all kinds."},
    {.name = kNearestMoved,
     .title = "Distance to the nearest training row",
     .unit = "categories",
     .beside = "held-out rows",
     .meaning = "Sum over coordinates of |difference| to the nearest training row.",
     .belief = "Shows who repeats rows, and follows the fit. Rank correlation with the true KL: "
               "0.81 among bridges, 0.81 among networks, 0.76 among samplers of all kinds."},
    {.name = kTransportChanged,
     .title = "Transport cost",
     .unit = "coordinates",
     .beside = "unpaired rows",
     .meaning = "Coordinates in which a draw differs from its x0; beside it what an x1 that "
                "ignores x0 costs. Less is closer to x0, good only if the draws fit x1.",
     .belief = "Does not rank: what fits worse often moves less. Rank correlation with the true "
               "KL: -0.17 among bridges, 0.09 among networks, 0.04 among samplers of all kinds.",
     .better = Better::kLower},
    {.name = kTransportMoved,
     .title = "Transport cost",
     .unit = "categories",
     .beside = "unpaired rows",
     .meaning = "Sum over coordinates of |x1 - x0|, for categories that have an order.",
     .belief = "Does not rank: what fits worse often moves less. Rank correlation with the true "
               "KL: -0.40 among bridges, -0.12 among networks, -0.10 among samplers of all "
               "kinds.",
     .better = Better::kLower},
    {.name = kReferenceKl,
     .title = "Path KL to the reference",
     .unit = "nats",
     .meaning = "What the sampler's paths cost against the reference. Of two that fit x1 alike, "
                "the one with less is nearer to the bridge.",
     .belief = "Does not rank: what fits worse often costs less. Rank correlation with the true "
               "KL: -0.60 among bridges, -0.67 among networks.",
     .better = Better::kLower},
    {.name = kBridgeDistance,
     .title = "Distance to the best bridge",
     .unit = "nats",
     .meaning = "KL of a chain solver's paths from those of the bridge with the highest objective; "
                "0 where they agree.",
     .belief = "Believe it among networks. Rank correlation with the true KL: 0.89 among networks.",
     .better = Better::kLower},
    {.name = kCycleShape,
     .title = "Cycle x0 -> x1 -> x0: shape score",
     .beside = "ceiling",
     .meaning = "Overlap of single coordinates of what comes back with held-out x0. Below the "
                "ceiling the two directions do not fit each other.",
     .belief = "Ranks networks alone, roughly. Rank correlation with the true KL: -0.09 among "
               "bridges, 0.63 among networks.",
     .better = Better::kHigher},
    {.name = kCycleTrend,
     .title = "Cycle: trend score",
     .beside = "ceiling",
     .meaning = "The same for pairs of coordinates.",
     .belief = "Does not rank. Rank correlation with the true KL: -0.15 among bridges, 0.40 among "
               "networks.",
     .better = Better::kHigher},
    {.name = kCycleChanged,
     .title = "Cycle: change",
     .unit = "coordinates",
     .beside = "unpaired rows",
     .meaning = "Coordinates in which what comes back differs from the x0 it started at; beside "
                "it another row of x0. A bridge draws anew, so it is not 0.",
     .belief = "Does not rank. Rank correlation with the true KL: 0.34 among bridges, 0.32 among "
               "networks."},
};

}  // namespace

std::span<const DataScoreSpec> data_score_specs() { return kDataSpecs; }

const DataScoreSpec* find_data_score(std::string_view name) {
  const auto found = std::ranges::find(kDataSpecs, name, &DataScoreSpec::name);
  return found == std::ranges::end(kDataSpecs) ? nullptr : found;
}

}  // namespace bridgemark
