#include "bridgemark/metric/joint_kl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bridgemark/core/clock.h"
#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/record/score_text.h"
#include "bridgemark/metric/score_spec.h"

namespace bridgemark {

namespace {

constexpr std::size_t kWorstOf = 100;  // the worst hundredth of the rows

// The rows and what the worst of them carry.
void describe_rows(JointKl& kl) {
  const std::size_t count = kl.rows.size(), worst = (count + kWorstOf - 1) / kWorstOf;
  kl.detail.rows = count;
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return kl.rows[a] > kl.rows[b]; });
  const double total = std::accumulate(kl.rows.begin(), kl.rows.end(), 0.0);
  double carried = 0.0;
  for (std::size_t i = 0; i < worst; ++i) carried += kl.rows[order[i]];
  if (std::isfinite(total) && total > 0.0) kl.detail.worst_share = carried / total;
  order.resize(std::min(worst, kShownWorstRows));
  for (const std::size_t row : order) kl.detail.worst_values.push_back(kl.rows[row]);
  kl.detail.worst_rows = std::move(order);
}

// Whether more rows are to be added to a mean that is not sure enough.
bool is_unsure(const std::vector<double>& rows, double relative_error) {
  const MeanEstimate mean = estimate_mean(rows);
  return std::isfinite(mean.mean) && !(mean.standard_error <= relative_error * std::abs(mean.mean));
}

// As many rows as the pace so far takes through in half a second, or in what is left of the time.
std::size_t rows_until_the_next_look(const ParticlePlan& plan, std::size_t done, double seconds) {
  constexpr double kMostRows = 1e6;
  const double left = std::clamp(plan.max_seconds - seconds, 0.0, 0.5);
  const double rows = left * static_cast<double>(done) / std::max(seconds, 1e-6);
  return std::max(plan.fewest_rows, static_cast<std::size_t>(std::min(rows, kMostRows)));
}

}  // namespace

JointKl exact_joint_kl(std::vector<double> rows) {
  JointKl kl{.rows = std::move(rows)};
  describe_rows(kl);
  return kl;
}

JointKl particle_joint_kl(const Context& context, const ReferenceProcess& process,
                          const Coupling& truth, const Coupling& coupling, const ParticlePlan& plan,
                          const ParticleRows& test) {
  const Clock::time_point started = Clock::now();
  const std::size_t all = test.x0.rows;
  JointKl kl;
  double half_sum = 0.0;
  std::size_t wanted = std::min(plan.rows, all), done = 0, slice = plan.fewest_rows;
  const auto is_late = [&] {
    return done >= std::min(plan.fewest_rows, all) && seconds_since(started) >= plan.max_seconds;
  };
  while (done < wanted && !is_late()) {
    const std::size_t rows = std::min(slice, wanted - done);
    const ParticleKls found = particle_kls(
        context, process, truth, coupling, plan.particles,
        {test.x0.slice(done, rows), test.x1.slice(done, rows), test.first_row + done,
         test.log_truth.empty() ? test.log_truth : test.log_truth.subspan(done, rows)});
    kl.rows.insert(kl.rows.end(), found.all.begin(), found.all.end());
    half_sum = std::accumulate(found.half.begin(), found.half.end(), half_sum);
    done += rows;
    slice = rows_until_the_next_look(plan, done, seconds_since(started));
    if (done == wanted && is_unsure(kl.rows, plan.relative_error)) {
      wanted = std::min(all, 2 * wanted);
    }
    context.report("joint KL", done, wanted);
  }
  describe_rows(kl);
  kl.detail.particles = plan.particles.particles;
  if (plan.particles.particles > 1) {
    const double change = half_sum / static_cast<double>(done) - estimate_mean(kl.rows).mean;
    if (std::isfinite(change)) kl.detail.half_particles_change = change;
  }
  return kl;
}

std::string joint_kl_text(const JointKlDetail& detail) {
  if (detail.rows == 0) return {};
  std::string text = detail.particles == 0
                         ? fmt::format("{}: exact, {} rows", kJointKl, detail.rows)
                         : fmt::format("{}: an upper bound by {} particles on {} rows", kJointKl,
                                       detail.particles, detail.rows);
  if (!std::isnan(detail.half_particles_change)) {
    text += fmt::format("; half as many give {} more", score_text(detail.half_particles_change));
  }
  if (!std::isnan(detail.worst_share)) {
    text += fmt::format("; the worst 1 % of rows carry {:.0f} % of it", 100.0 * detail.worst_share);
  }
  return text;
}

}  // namespace bridgemark
