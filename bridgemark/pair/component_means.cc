#include "bridgemark/pair/component_means.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/math/normal.h"
#include "bridgemark/math/philox.h"
#include "bridgemark/pair/quantizer.h"

namespace bridgemark {

namespace {

constexpr int kTries = 100;
constexpr double kSphereRange = 5.0;       // means on the sphere are quantised on [-5, 5]
constexpr double kSphereSeparation = 2.5;  // in units of sigma
constexpr int kSpreadMargin = 5;           // categories left free at each end

using Mean = std::vector<double>;

double distance(const Mean& a, const Mean& b) {
  double sum = 0.0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return std::sqrt(sum);
}

Mean draw_on_sphere(const PairSpec& spec, DrawSequence draws) {
  Mean mean(static_cast<std::size_t>(spec.dim));
  for (double& value : mean) value = draw_normal(draws);
  const double norm = distance(mean, Mean(mean.size(), 0.0));
  for (double& value : mean) value *= spec.radius / norm;
  return mean;
}

Mean draw_spread(const PairSpec& spec, DrawSequence draws) {
  const double choices = spec.num_categories - 2 * kSpreadMargin;
  Mean mean(static_cast<std::size_t>(spec.dim));
  for (double& value : mean) value = kSpreadMargin + std::floor(draws.uniform() * choices);
  return mean;
}

// draw(component, attempt) until far_enough(distance) from every earlier mean, or the last try.
template <typename Draw, typename FarEnough>
std::vector<Mean> draw_apart(const Context& context, int count, Draw&& draw,
                             FarEnough&& far_enough) {
  std::vector<Mean> means;
  for (int k = 0; k < count; ++k) {
    context.throw_if_interrupted();
    Mean mean;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      mean = draw(k, attempt);
      bool separated = true;
      for (const Mean& earlier : means)
        separated = separated && far_enough(distance(mean, earlier));
      if (separated) break;
    }
    means.push_back(std::move(mean));
  }
  return means;
}

template <typename Category>
Matrix<int> categories(const std::vector<Mean>& means, int dim, Category&& category) {
  Matrix<int> result(means.size(), static_cast<std::size_t>(dim));
  for (std::size_t k = 0; k < result.rows(); ++k) {
    for (std::size_t d = 0; d < result.cols(); ++d) result(k, d) = category(means[k][d]);
  }
  return result;
}

}  // namespace

Matrix<int> draw_component_means(const PairSpec& spec, const Context& context) {
  const auto draws = [&](DrawPurpose purpose, int component, int attempt) {
    return DrawSequence({spec.seed, purpose, static_cast<std::uint32_t>(attempt)},
                        static_cast<std::uint64_t>(component));
  };
  switch (spec.family) {
    case PairFamily::kSphere: {
      const Quantizer quantizer(spec.num_categories, -kSphereRange, kSphereRange);
      const auto means = draw_apart(
          context, spec.num_components,
          [&](int k, int attempt) {
            return draw_on_sphere(spec, draws(DrawPurpose::kPairMeans, k, attempt));
          },
          [&](double apart) { return apart > kSphereSeparation * spec.sigma; });
      return categories(means, spec.dim, [&](double value) { return quantizer.category(value); });
    }
    case PairFamily::kSpread:
    case PairFamily::kChain:
    case PairFamily::kTwoSided:
    case PairFamily::kTree: {
      if (spec.num_categories <= 2 * kSpreadMargin) {
        throw_invalid("pair", "num_categories must be at least {} for family {}, got {}",
                      2 * kSpreadMargin + 1, pair_family_name(spec.family), spec.num_categories);
      }
      const auto means = draw_apart(
          context, spec.num_components,
          [&](int k, int attempt) {
            return draw_spread(spec, draws(DrawPurpose::kSpreadMeans, k, attempt));
          },
          [&](double apart) { return apart >= spec.min_distance; });
      return categories(means, spec.dim, [](double value) { return static_cast<int>(value); });
    }
    case PairFamily::kDistilled:
      break;
  }
  throw_invalid("pair", "family must be one that draws its means, got {}",
                pair_family_name(spec.family));
}

void require_min_distance(const PairSpec& spec, const Context& context) {
  const Matrix<int> drawn = draw_component_means(spec, context);
  const auto mean = [&](std::size_t k) { return Mean(drawn.row(k), drawn.row(k) + drawn.cols()); };
  for (std::size_t k = 1; k < drawn.rows(); ++k) {
    context.throw_if_interrupted();
    const Mean one = mean(k);
    for (std::size_t other = 0; other < k; ++other) {
      const double apart = distance(one, mean(other));
      if (apart >= spec.min_distance) continue;
      throw_invalid("pair",
                    "min_distance must be one that {} means in {} categories and {} dimensions "
                    "have after {} tries each, got {}: two are {:.4g} apart; lower it, or take "
                    "fewer components",
                    spec.num_components, spec.num_categories, spec.dim, kTries, spec.min_distance,
                    apart);
    }
  }
}

}  // namespace bridgemark
