#pragma once

#include "bridgemark/core/array.h"

// The elementary steps of the references that have a gamma, as tables of logarithms.
namespace bridgemark {

// The n-th power of a uniform process is a^n I + (1 - a^n)/S 11^T, a = 1 - gamma S/(S-1). log1p and
// expm1 keep 1 - a^n exact for tiny gamma, and the diagonal for gamma near 1, where a is negative.
struct UniformPower {
  double identity;      // a^n
  double off_diagonal;  // (1 - a^n) / S
  double diagonal;      // (1 + (S-1) a^n) / S
};

UniformPower uniform_power(int num_categories, double gamma, int n);

Matrix<double> log_uniform_power(int num_categories, double gamma, int n);

Matrix<double> log_gaussian_step(int num_categories, double gamma);

}  // namespace bridgemark
