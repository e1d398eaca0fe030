#include "bridgemark/pair/quantizer.h"

#include <algorithm>
#include <cmath>

#include "bridgemark/core/error.h"

namespace bridgemark {

Quantizer::Quantizer(int num_categories, double low, double high) {
  if (num_categories < 2) {
    throw_invalid("quantizer", "num_categories must be at least 2, got {}", num_categories);
  }
  if (!(std::isfinite(low) && std::isfinite(high) && low < high)) {
    throw_invalid("quantizer", "range must be finite and increasing, got [{}, {}]", low, high);
  }
  const int last = num_categories - 2;
  for (int i = 0; i <= last; ++i) {
    edges_.push_back(last == 0 ? 0.5 * (low + high) : low + (high - low) * i / last);
  }
}

int Quantizer::category(double value) const {
  return static_cast<int>(std::lower_bound(edges_.begin(), edges_.end(), value) - edges_.begin());
}

}  // namespace bridgemark
