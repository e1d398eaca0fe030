#include "bridgemark/solver/sinkhorn/row_bridge.h"

#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "bridgemark/backend/backend.h"
#include "bridgemark/backend/plan/row_kernel.h"
#include "bridgemark/core/error.h"
#include "bridgemark/core/parallel.h"
#include "bridgemark/core/states.h"
#include "bridgemark/io/safetensors.h"

namespace bridgemark {

namespace {

constexpr char kWeightedRows[] = "weighted-rows", kSmoothing[] = "smoothing";

// log_cores[d, s, j] = log Q_s[rows[j,d], s]; the components lie innermost.
CpPotential spread_rows(const Context& context, const ReferenceProcess& process,
                        const WeightedTarget& target) {
  if (target.smoothing < 1) {
    throw_invalid("sinkhorn", "smoothing of a bridge must be at least 1, got {}", target.smoothing);
  }
  const Matrix<double> density = smoothing_density(context, process, target.smoothing);
  const std::size_t n = target.rows.rows(), D = target.rows.cols(), S = density.cols();
  Array3<double> log_cores(D, S, n);
  parallel_blocks(context, D * S, 64, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t d = i / S, s = i % S;
      double* core = log_cores.row(d, s);
      for (std::size_t j = 0; j < n; ++j) {
        core[j] = density(static_cast<std::size_t>(target.rows(j, d)), s);
      }
    }
  });
  return CpPotential(target.h, std::move(log_cores));
}

const WeightedTarget& target_of(const Coupling& coupling) {
  if (const auto* points = dynamic_cast<const RowCoupling*>(&coupling)) return points->target();
  return dynamic_cast<const SmoothedRowBridge&>(coupling).target();
}

int read_smoothing(const SafetensorsFile& file, int most, const std::filesystem::path& path) {
  const auto found = file.metadata().find(kSmoothing);
  const std::string text = found == file.metadata().end() ? "" : found->second;
  int smoothing = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), smoothing);
  if (error != std::errc() || end != text.data() + text.size() || smoothing < 0 ||
      smoothing > most) {
    throw_file(path.string(), "metadata '{}' must be a whole number in 0..{}, got '{}'", kSmoothing,
               most, text);
  }
  return smoothing;
}

}  // namespace

Matrix<double> smoothing_density(const Context& context, const ReferenceProcess& process,
                                 int smoothing) {
  // The reference has its powers up to its own number of steps.
  if (smoothing <= process.total_steps()) return process.log_power(context, smoothing).matrix();
  const Matrix<double> half = smoothing_density(context, process, smoothing / 2);
  const Matrix<double> rest = smoothing_density(context, process, smoothing - smoothing / 2);
  Matrix<double> density(half.rows(), half.cols());
  backend::of(context).log_matmul(context, half, rest, density.view());
  return density;
}

Matrix<double> smoothed_kernel(const Context& context, const ReferenceProcess& process,
                               int smoothing) {
  const SharedMatrix forward = process.log_power(context, process.total_steps());
  if (smoothing == 0) return forward.matrix();
  const Matrix<double> density = smoothing_density(context, process, smoothing);
  const std::size_t S = density.rows();
  Matrix<double> transposed(S, S), kernel(S, S);
  for (std::size_t b = 0; b < S; ++b) {
    for (std::size_t y = 0; y < S; ++y) transposed(y, b) = density(b, y);
  }
  backend::of(context).log_matmul(context, forward, transposed, kernel.view());
  return kernel;
}

RowCoupling::RowCoupling(ReferenceProcess process, WeightedTarget target)
    : process_(std::move(process)), target_(std::move(target)) {
  if (target_.smoothing != 0) {
    throw_invalid("sinkhorn", "smoothing of points must be 0, got {}", target_.smoothing);
  }
}

void RowCoupling::sample(const Context& context, StatesView x0, const DrawKey& key,
                         std::uint64_t first_index, MutableStatesView x1) const {
  check_states("x0", x0, dim(), num_categories());
  const SharedMatrix log_k = process_.log_power(context, process_.total_steps());
  backend::of(context).sample_weighted_rows(context, {log_k, target_.rows, target_.h}, x0, key,
                                            first_index, x1);
}

void RowCoupling::write_log_marginals(const Context& context, StatesView x0,
                                      MatrixView<double> out) const {
  check_states("x0", x0, dim(), num_categories());
  const SharedMatrix log_k = process_.log_power(context, process_.total_steps());
  backend::of(context).weighted_row_marginals(context, {log_k, target_.rows, target_.h}, x0, out);
}

std::string RowCoupling::why_missing(Ability ability, int num_steps) const {
  if (ability == Ability::kMarginals) return Coupling::why_missing(ability, num_steps);
  return fmt::format(
      "without smoothing the coupling puts all its mass on the {} rows it was fitted to: any other "
      "x1 has probability 0, and the KL is infinite",
      target_.rows.rows());
}

SmoothedRowBridge::SmoothedRowBridge(const Context& context, ReferenceProcess process,
                                     WeightedTarget target)
    : CpBridge(process, spread_rows(context, process, target)), target_(std::move(target)) {}

std::shared_ptr<const Coupling> make_row_coupling(const Context& context, ReferenceProcess process,
                                                  WeightedTarget target) {
  if (target.smoothing == 0) {
    return std::make_shared<const RowCoupling>(std::move(process), std::move(target));
  }
  return std::make_shared<const SmoothedRowBridge>(context, std::move(process), std::move(target));
}

void save_row_coupling(const Coupling& coupling, const std::filesystem::path& path) {
  const WeightedTarget& target = target_of(coupling);
  SafetensorsWriter writer;
  writer.set_metadata("kind", kWeightedRows);
  writer.set_metadata(kSmoothing, std::to_string(target.smoothing));
  writer.add("rows", {target.rows.rows(), target.rows.cols()},
             std::span(target.rows.data(), target.rows.size()));
  writer.add("log_weights", {target.h.size()}, std::span(target.h));
  writer.write(path);
}

std::shared_ptr<const Coupling> load_row_coupling(const Context& context,
                                                  const ReferenceProcess& process, std::size_t dim,
                                                  const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::load(path);
  if (file.shape("log_weights").size() != 1 || file.shape("log_weights")[0] == 0) {
    throw_file(path.string(), "tensor 'log_weights' must have one axis and at least one entry");
  }
  const std::size_t n = file.shape("log_weights")[0];
  file.expect_shape("rows", {n, dim});
  WeightedTarget target{States(n, dim, file.read_int32("rows")), file.read_doubles("log_weights"),
                        read_smoothing(file, kMostSmoothing * process.total_steps(), path)};
  try {
    check_states("rows", target.rows, dim, process.num_categories());
    for (const double h : target.h) {
      if (!std::isfinite(h)) throw_invalid("sinkhorn", "log_weights must be finite, got {}", h);
    }
    return make_row_coupling(context, process, std::move(target));
  } catch (const InvalidArgument& error) {
    throw_file(path.string(), "{}", error.what());
  }
}

}  // namespace bridgemark
