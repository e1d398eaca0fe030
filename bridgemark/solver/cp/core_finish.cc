#include "bridgemark/solver/cp/core_finish.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "bridgemark/solver/cp/core_shrinkage.h"
#include "bridgemark/solver/cp/cp_parameters.h"

namespace bridgemark {

namespace {

constexpr double kShrinkages[] = {0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0};
// Of 128 elementary steps; other references have as many in proportion.
constexpr double kSmoothings[] = {0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0};

// Rows that the shares of components are measured on: the noise of a core is needed roughly.
constexpr std::size_t kShareRows = 256;

// The values of a list beside one of it, from the one before to the one after.
std::span<const double> beside(const std::vector<double>& values, double value) {
  const auto at = std::ranges::find(values, value) - values.begin();
  const auto first = std::max<std::ptrdiff_t>(at - 1, 0);
  const auto last = std::min<std::ptrdiff_t>(at + 2, std::ssize(values));
  return std::span(values).subspan(
      static_cast<std::size_t>(first),
      static_cast<std::size_t>(std::max(last - first, std::ptrdiff_t{0})));
}

}  // namespace

std::vector<CoreFinish> CoreFinishes::first() const {
  std::vector<CoreFinish> list;
  for (const double smoothing : smoothings) list.push_back({shrinkages.front(), smoothing});
  for (const double shrinkage : std::span(shrinkages).subspan(1)) {
    list.push_back({shrinkage, smoothings.front()});
  }
  return list;
}

std::vector<CoreFinish> CoreFinishes::near(const CoreFinish& best) const {
  std::vector<CoreFinish> list;
  for (const double smoothing : beside(smoothings, best.smoothing)) {
    list.push_back({best.shrinkage, smoothing});
  }
  for (const double shrinkage : beside(shrinkages, best.shrinkage)) {
    if (shrinkage != best.shrinkage) list.push_back({shrinkage, best.smoothing});
  }
  return list;
}

CoreFinishes core_finishes(std::optional<double> shrinkage, std::optional<double> smoothing,
                           const ReferenceProcess& process) {
  CoreFinishes finishes;
  if (shrinkage) {
    finishes.shrinkages = {*shrinkage};
  } else if (static_cast<std::size_t>(process.num_categories()) > kMostShrunkCategories) {
    finishes.shrinkages = {0.0};
  } else {
    finishes.shrinkages.assign(std::begin(kShrinkages), std::end(kShrinkages));
  }
  if (smoothing) {
    finishes.smoothings = {*smoothing};
    return finishes;
  }
  for (const double of_128 : kSmoothings) {
    finishes.smoothings.push_back(of_128 * process.total_steps() / 128.0);
  }
  return finishes;
}

CoreFinisher::CoreFinisher(const Context& context, const ReferenceProcess& process,
                           const backend::CpTensors<float>& parameters,
                           const Matrix<double>& log_reach, StatesView x1)
    : context_(context),
      process_(process),
      parameters_(parameters),
      log_reach_(log_reach),
      x1_(x1) {}

backend::CpTensors<float> CoreFinisher::finish(const CoreFinish& finish) {
  if (finish.shrinkage == 0.0) {
    return smoothed(context_, process_, parameters_, finish.smoothing);
  }
  if (!shares_) shares_ = measure_components(context_, parameters_, log_reach_, x1_, kShareRows);
  auto found = shrunk_.find(finish.shrinkage);
  if (found == shrunk_.end()) {
    const double strength = finish.shrinkage;
    found =
        shrunk_.emplace(strength, shrink_cores(parameters_, *shares_, x1_.rows, strength)).first;
  }
  return smoothed(context_, process_, found->second, finish.smoothing);
}

}  // namespace bridgemark
