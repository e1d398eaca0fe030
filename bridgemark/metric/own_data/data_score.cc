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
     .belief = "Ranks poorly. Rank correlation with the true KL: 0.26 among bridges, 0.00 among "
               "samplers of all kinds.",
     .better = Better::kHigher},
    {.name = kDataTrend,
     .title = "Trend score",
     .beside = "ceiling",
     .meaning = "The same for pairs of coordinates, (d, d) included.",
     .belief = "Ranks roughly. Rank correlation with the true KL: 0.75 among bridges, 0.40 among "
               "samplers of all kinds.",
     .better = Better::kHigher},
    {.name = kDataTrendOffdiagonal,
     .title = "Trend score without (d, d)",
     .beside = "ceiling",
     .meaning = "The same for pairs of different coordinates.",
     .belief = "Ranks roughly. Rank correlation with the true KL: 0.78 among bridges, 0.46 among "
               "samplers of all kinds.",
     .better = Better::kHigher},
    {.name = kDataC2stAuc,
     .title = "C2ST AUC",
     .beside = "training rows",
     .meaning = "How well a trained classifier tells draws from held-out x1; 1/2: it cannot. Blind "
                "to which x0 an x1 belongs to.",
     .belief = "Ranks roughly, but is fooled by repeated rows. Rank correlation with the true KL: "
               "0.66 among bridges, 0.21 among samplers of all kinds."},
    {.name = kCopies,
     .title = "Copies",
     .unit = "share",
     .beside = "held-out rows",
     .meaning = "Share of draws that are a training row of x1. More than among held-out rows: it "
                "repeats what it was trained on.",
     .belief = "Shows who repeats rows, and ranks little else. Rank correlation with the true KL: "
               "0.65 among bridges, 0.74 among samplers of all kinds."},
    {.name = kNearestChanged,
     .title = "Distance to the nearest training row",
     .unit = "coordinates",
     .beside = "held-out rows",
     .meaning = "Coordinates in which a draw differs from the nearest training row of x1. Far "
                "below that of held-out rows: it learned rows by heart.",
     .belief = "Shows who repeats rows, and follows the fit. Rank correlation with the true KL: "
               "0.83 among bridges, 0.82 among samplers of all kinds."},
    {.name = kNearestMoved,
     .title = "Distance to the nearest training row",
     .unit = "categories",
     .beside = "held-out rows",
     .meaning = "Sum over coordinates of |difference| to the nearest training row.",
     .belief = "Shows who repeats rows, and follows the fit. Rank correlation with the true KL: "
               "0.74 among bridges, 0.67 among samplers of all kinds."},
    {.name = kTransportChanged,
     .title = "Transport cost",
     .unit = "coordinates",
     .beside = "unpaired rows",
     .meaning = "Coordinates in which a draw differs from its x0; beside it what an x1 that "
                "ignores x0 costs. Less is closer to x0, good only if the draws fit x1.",
     .belief = "Does not rank: what fits worse often moves less. Rank correlation with the true "
               "KL: -0.08 among bridges, 0.25 among samplers of all kinds.",
     .better = Better::kLower},
    {.name = kTransportMoved,
     .title = "Transport cost",
     .unit = "categories",
     .beside = "unpaired rows",
     .meaning = "Sum over coordinates of |x1 - x0|, for categories that have an order.",
     .belief = "Does not rank: what fits worse often moves less. Rank correlation with the true "
               "KL: -0.23 among bridges, 0.19 among samplers of all kinds.",
     .better = Better::kLower},
    {.name = kReferenceKl,
     .title = "Path KL to the reference",
     .unit = "nats",
     .meaning = "What the sampler's paths cost against the reference. Of two that fit x1 alike, "
                "the one with less is nearer to the bridge.",
     .belief = "Does not rank: what fits worse often costs less. Rank correlation with the true "
               "KL: -0.41 among bridges.",
     .better = Better::kLower},
    {.name = kBridgeDistance,
     .title = "Distance to the best bridge",
     .unit = "nats",
     .meaning = "KL of a chain solver's paths from those of the bridge with the highest objective; "
                "0 where they agree.",
     .belief = "Not judged: too few networks were trained beside bridges.",
     .better = Better::kLower},
    {.name = kCycleShape,
     .title = "Cycle x0 -> x1 -> x0: shape score",
     .beside = "ceiling",
     .meaning = "Overlap of single coordinates of what comes back with held-out x0. Below the "
                "ceiling the two directions do not fit each other.",
     .belief = "Does not rank. Rank correlation with the true KL: -0.12 among bridges.",
     .better = Better::kHigher},
    {.name = kCycleTrend,
     .title = "Cycle: trend score",
     .beside = "ceiling",
     .meaning = "The same for pairs of coordinates.",
     .belief = "Does not rank. Rank correlation with the true KL: -0.23 among bridges.",
     .better = Better::kHigher},
    {.name = kCycleChanged,
     .title = "Cycle: change",
     .unit = "coordinates",
     .beside = "unpaired rows",
     .meaning = "Coordinates in which what comes back differs from the x0 it started at; beside "
                "it another row of x0. A bridge draws anew, so it is not 0.",
     .belief = "Does not rank. Rank correlation with the true KL: 0.28 among bridges."},
};

}  // namespace

std::span<const DataScoreSpec> data_score_specs() { return kDataSpecs; }

const DataScoreSpec* find_data_score(std::string_view name) {
  const auto found = std::ranges::find(kDataSpecs, name, &DataScoreSpec::name);
  return found == std::ranges::end(kDataSpecs) ? nullptr : found;
}

}  // namespace bridgemark
