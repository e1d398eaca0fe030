#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "bridgemark/bridge/cp_potential.h"
#include "bridgemark/bridge/tree_potential.h"
#include "bridgemark/core/array.h"
#include "bridgemark/core/context.h"
#include "bridgemark/math/philox.h"

namespace bridgemark {

namespace backend {
struct RowSource;
}

// What kind of distribution p0 is.
enum class SourceKind { kGaussian, kUniform, kProduct, kMixture, kTree, kEmpirical };

// "gaussian", "uniform", "product", "mixture", "tree" or "empirical".
std::string_view source_kind_name(SourceKind kind);

// The paper quantises p0 on [-7, 7].
inline constexpr double kPaperSourceRange = 7.0;

// A uniform p0 lives on [-3, 3], and a custom pair quantises it there.
inline constexpr double kUniformSourceRange = 3.0;

// p0: independent coordinates with a known pmf each, a mixture of such, the law of a hidden tree,
// or a set of observed states drawn alike. Immutable; copies share the tables.
class SourceDistribution {
 public:
  // A standard normal for each coordinate, quantised on [low, high].
  static SourceDistribution gaussian(std::size_t dim, int num_categories, double low, double high);

  // Uniform on [-3, 3] for each coordinate, quantised on [low, high].
  static SourceDistribution uniform(std::size_t dim, int num_categories, double low, double high);

  // pmf [D,S]: each row non-negative and summing to 1 within 1e-6 (normalised to full precision).
  static SourceDistribution product(const Matrix<double>& pmf);

  // In proportion to a potential: a mixture of independent coordinates, one part a component.
  static SourceDistribution mixture(const CpPotential& potential);

  // In proportion to a tree potential.
  static SourceDistribution tree(const TreePotential& potential);

  // Rows of `states` [n,D] alike; categories 0..num_categories-1.
  static SourceDistribution empirical(States states, int num_categories);

  SourceKind kind() const { return kind_; }
  std::size_t dim() const { return dim_; }
  int num_categories() const { return num_categories_; }
  double low() const { return low_; }  // quantisation range of gaussian and uniform
  double high() const { return high_; }

  // out[i] ~ p0 with the draws of index first_index + i.
  void sample(const Context& context, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView out) const;

  // out[b] = log p0(x[b]); -inf for states that cannot occur.
  void log_probability(StatesView x, std::span<double> out) const;

  // log of the marginal pmf of each coordinate, [D,S].
  Matrix<double> log_marginals() const;

  // The same rows, described for a device.
  backend::RowSource rows(const DrawKey& key) const;

  // The pmf rows of independent coordinates; throws InvalidArgument for any other source.
  const Matrix<double>& log_pmf() const;

  // The parts as a potential whose components are their laws, one for independent coordinates;
  // throws InvalidArgument for observed states and trees.
  CpPotential parts() const;

  // What product() was given, bit for bit, for the record; throws InvalidArgument for any other
  // source.
  const Matrix<double>& given_pmf() const;

  // The observed states; throws InvalidArgument for any other source.
  const States& states() const;

 private:
  struct Tables;

  SourceDistribution(SourceKind kind, std::size_t dim, int num_categories,
                     std::shared_ptr<const Tables> tables);
  static SourceDistribution independent(SourceKind kind, Matrix<double> log_pmf,
                                        std::vector<double> log_weights = {0.0});

  SourceKind kind_;
  std::size_t dim_;
  int num_categories_;
  double low_ = 0.0;
  double high_ = 0.0;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace bridgemark
