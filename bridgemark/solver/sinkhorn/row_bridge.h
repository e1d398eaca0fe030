#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "bridgemark/bridge/cp_bridge.h"

// Couplings whose potential lies on rows of x1: v = sum_j exp(h_j) times a density around row j.
namespace bridgemark {

// What both kinds are made of, and what a file holds of them.
struct WeightedTarget {
  States rows;            // [n,D]
  std::vector<double> h;  // [n], log weights
  int smoothing = 0;      // steps of the reference that spread each row; 0 leaves it a point
};

// The most steps that rows are spread by, as a multiple of those of the reference: where moves are
// rare and rows few, more than its own are best.
inline constexpr int kMostSmoothing = 8;

// log Q_s[b, y]: the density that a category b is spread to by s steps, [S,S].
Matrix<double> smoothing_density(const Context& context, const ReferenceProcess& process,
                                 int smoothing);

// log sum_y Q_T[a, y] Q_s[b, y]: the kernel between x0 and a row that is spread, [S,S].
Matrix<double> smoothed_kernel(const Context& context, const ReferenceProcess& process,
                               int smoothing);

// Points: q(x1_j|x0) in proportion to exp(h_j) Q_T(x1_j|x0). It draws rows alone, so it has
// marginals, but no joint probability of any other x1.
class RowCoupling : public Coupling {
 public:
  // Throws InvalidArgument unless the smoothing is 0.
  RowCoupling(ReferenceProcess process, WeightedTarget target);

  const WeightedTarget& target() const { return target_; }
  std::size_t dim() const override { return target_.rows.cols(); }
  int num_categories() const override { return process_.num_categories(); }
  void sample(const Context& context, StatesView x0, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x1) const override;
  bool has_marginals() const override { return true; }
  void write_log_marginals(const Context& context, StatesView x0,
                           MatrixView<double> out) const override;
  std::string why_missing(Ability ability, int num_steps) const override;

 private:
  ReferenceProcess process_;
  WeightedTarget target_;
};

// Rows that are spread: a CP bridge with a component for each.
class SmoothedRowBridge : public CpBridge {
 public:
  // Throws InvalidArgument unless the smoothing is positive.
  SmoothedRowBridge(const Context& context, ReferenceProcess process, WeightedTarget target);

  const WeightedTarget& target() const { return target_; }

 private:
  WeightedTarget target_;
};

// The one of the two that the target's smoothing asks for.
std::shared_ptr<const Coupling> make_row_coupling(const Context& context, ReferenceProcess process,
                                                  WeightedTarget target);

// As safetensors: rows [n,D], log_weights [n], and the smoothing in the metadata.
void save_row_coupling(const Coupling& coupling, const std::filesystem::path& path);

// Throws FileError where the file does not fit the process and the dimension.
std::shared_ptr<const Coupling> load_row_coupling(const Context& context,
                                                  const ReferenceProcess& process, std::size_t dim,
                                                  const std::filesystem::path& path);

}  // namespace bridgemark
