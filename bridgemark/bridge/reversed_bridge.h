#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/bridge/coupling.h"
#include "bridgemark/bridge/source_law.h"

namespace bridgemark {

struct ReverseTables;

// Logarithms that were estimated, with the standard error of each; an error of 0 is a closed form.
struct LogEstimates {
  std::vector<double> value;
  std::vector<double> standard_error;
};

// Probabilities [rows,D,S] that were estimated, with the standard error of each.
struct MarginalEstimates {
  Array3<double> probability;
  Array3<double> standard_error;
};

// A bridge whose p0 has independent coordinates, or is a mixture of such or a hidden chain, read
// backwards: x0 given x1, exact in any dimension. Draws are proposals from an envelope
// (reverse_envelope.h), kept with its probability: try t of row i under a key is a function of
// (key, i, t) alone. There is no closed form of p1, so what needs it is an estimate that says its
// error. The work is the host's on every device.
class ReversedBridge : public Coupling {
 public:
  // Proposals made for one row before it is given up.
  static constexpr std::uint64_t kMaxTries = std::uint64_t{1} << 20;

  // Of an estimate of p1, relative; as many proposals as it takes, at most kMaxTries.
  static constexpr double kRelativeError = 0.05;

  // log_p0 [D,S]: the coordinates' logarithms. Throws InvalidArgument for another shape.
  ReversedBridge(const Context& context, std::shared_ptr<const Bridge> bridge,
                 Matrix<double> log_p0);

  // A mixture or a chain. Throws InvalidArgument for one of another space.
  ReversedBridge(const Context& context, std::shared_ptr<const Bridge> bridge,
                 const SourceLaw& source);

  std::size_t dim() const override { return bridge_->dim(); }
  int num_categories() const override { return bridge_->num_categories(); }
  const Bridge& bridge() const { return *bridge_; }

  // x0[i] ~ q(. | x1[i]). Throws InvalidArgument that names the acceptance where no proposal of a
  // row was kept.
  void sample(const Context& context, StatesView x1, const DrawKey& key, std::uint64_t first_index,
              MutableStatesView x0) const override;

  // out[b] = log q(x0[b], x1[b]), a closed form.
  void log_joint(const Context& context, StatesView x1, StatesView x0, std::span<double> out) const;

  // log p1(x1[b]), the logarithm of an estimate without bias: the mass of the envelope times the
  // mean probability to keep a proposal. Row b uses the draws of its number.
  LogEstimates log_p1(const Context& context, StatesView x1, std::uint64_t seed = 0,
                      double relative_error = kRelativeError) const;

  // log q(x0[b] | x1[b]), where the sum over x0 that p1 rests on is an estimate with the draws of
  // seed 0. Its logarithm is corrected for the bias that the logarithm of a mean has, to second
  // order. The estimates of the last x1 are kept.
  bool has_joint() const override { return true; }
  void log_conditional(const Context& context, StatesView x1, StatesView x0,
                       std::span<double> out) const override;

  // q(x0^d = s | x1[b]) as the mean, over num_draws exact draws, of the closed form of a coordinate
  // given the others of the draw (Rao-Blackwell). Draw i of row b has index b * num_draws + i.
  MarginalEstimates estimate_marginals(const Context& context, StatesView x1, std::size_t num_draws,
                                       std::uint64_t seed = 0) const;

  // The probability that a proposal for x1[b] is kept, from num_proposals of them.
  std::vector<double> acceptance(const Context& context, StatesView x1, std::size_t num_proposals,
                                 std::uint64_t seed = 0) const;

 private:
  struct LastTotals;  // kept for the next call

  // Of sums over x0, and what their logarithms are off by on average, to second order.
  struct Totals {
    LogEstimates log;
    std::vector<double> bias;
  };
  Totals log_totals(const Context& context, StatesView x1, std::uint64_t seed,
                    double relative_error) const;
  double log_start(const std::int32_t* x1, const std::int32_t* x0) const;

  // Adds all other tables to those of p0.
  void set_tables(const Context& context, std::shared_ptr<ReverseTables> tables);

  std::shared_ptr<const Bridge> bridge_;
  std::shared_ptr<const ReverseTables> tables_;
  std::shared_ptr<LastTotals> last_;
};

}  // namespace bridgemark
