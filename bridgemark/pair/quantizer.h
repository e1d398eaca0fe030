#pragma once

#include <vector>

namespace bridgemark {

// Maps real numbers to S categories by S-1 edges spaced evenly on [low, high]: category s holds
// (edge[s-1], edge[s]]. A single edge (S = 2) lies in the middle.
class Quantizer {
 public:
  Quantizer(int num_categories, double low, double high);

  int num_categories() const { return static_cast<int>(edges_.size()) + 1; }
  int category(double value) const;
  const std::vector<double>& edges() const { return edges_; }

 private:
  std::vector<double> edges_;
};

}  // namespace bridgemark
