#include "bridgemark/solver/cp/cp_model_file.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "bridgemark/bridge/potential_checks.h"
#include "bridgemark/core/error.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/solver/direction/bridge_file.h"

namespace bridgemark {

namespace {

constexpr char kNumSteps[] = "num_steps";
constexpr char kCpBridge[] = "cp-bridge";

int read_num_steps(const SafetensorsFile& file, const std::string& prefix) {
  const auto found = file.metadata().find(prefix + kNumSteps);
  if (found == file.metadata().end()) return 0;
  const std::string& text = found->second;
  int steps = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw_file(file.path(), "metadata '{}{}' must be a whole number, got '{}'", prefix, kNumSteps,
               text);
  }
  return steps;
}

// What check_logarithms() asks of the largest values; that all are finite is known.
void check_scales(RankGroup& ranks, const backend::CpTensors<float>& share) {
  const std::size_t of_dim = share.num_categories * share.num_components;
  std::vector<double> largest = {*std::max_element(share.log_beta.begin(), share.log_beta.end())};
  for (auto first = share.log_cores.begin(); first != share.log_cores.end(); first += of_dim) {
    largest.push_back(*std::max_element(first, first + of_dim));
  }
  ranks.all_max(largest);
  for (std::size_t i = 0; i < largest.size(); ++i) {
    check_log_scale(i == 0 ? "log_beta" : "log_cores", largest[i]);
  }
}

// A row of all ranks' components, on the first rank.
class RowGatherer {
 public:
  explicit RowGatherer(RankGroup& ranks, std::size_t own) : ranks_(ranks) {
    std::vector<double> counts(static_cast<std::size_t>(ranks.count()), 0.0);
    counts[static_cast<std::size_t>(ranks.rank())] = static_cast<double>(own);
    ranks.all_sum(counts);
    for (const double count : counts) counts_.push_back(static_cast<std::size_t>(count));
  }

  std::size_t size() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
  }

  void send(std::span<const float> own) { ranks_.send_to_first(std::as_bytes(own)); }

  std::span<const double> receive(std::span<const float> own) {
    row_.assign(own.begin(), own.end());
    for (std::size_t from = 1; from < counts_.size(); ++from) {
      received_.resize(counts_[from]);
      ranks_.receive_on_first(static_cast<int>(from), std::as_writable_bytes(std::span(received_)));
      row_.insert(row_.end(), received_.begin(), received_.end());
    }
    return row_;
  }

 private:
  RankGroup& ranks_;
  std::vector<std::size_t> counts_;
  std::vector<float> received_;
  std::vector<double> row_;
};

}  // namespace

void add_cp_bridge(SafetensorsWriter& writer, const std::string& prefix, const Bridge& bridge) {
  const CpPotential& potential = dynamic_cast<const CpBridge&>(bridge).potential();
  const Array3<double>& cores = potential.log_cores();
  writer.set_metadata("kind", kCpBridge);
  if (bridge.own_num_steps() > 0) {
    writer.set_metadata(prefix + kNumSteps, std::to_string(bridge.own_num_steps()));
  }
  writer.add(prefix + "log_beta", {potential.num_components()}, std::span(potential.log_beta()));
  writer.add(prefix + "log_cores", {cores.extent(0), cores.extent(1), cores.extent(2)},
             std::span(cores.data(), cores.size()));
}

std::shared_ptr<const Bridge> read_cp_bridge(const SafetensorsFile& file, const std::string& prefix,
                                             const ReferenceProcess& process, std::size_t dim) {
  const auto S = static_cast<std::size_t>(process.num_categories());
  const std::string beta = prefix + "log_beta", cores = prefix + "log_cores";
  if (file.shape(beta).size() != 1) throw_file(file.path(), "tensor '{}' must have one axis", beta);
  const std::size_t K = file.shape(beta)[0];
  file.expect_shape(cores, std::vector{dim, S, K});
  return std::make_shared<const CpBridge>(
      process,
      CpPotential(file.read_doubles(beta), Array3<double>(dim, S, K, file.read_doubles(cores))),
      read_num_steps(file, prefix));
}

void save_shared_cp_model(RankGroup& ranks, const backend::CpTensors<float>& share,
                          const std::filesystem::path& path) {
  check_scales(ranks, share);
  RowGatherer gatherer(ranks, share.num_components);
  const std::size_t own = share.num_components, rows = share.dim * share.num_categories;
  const auto row_of_cores = [&](std::size_t row) {
    return std::span<const float>(share.log_cores).subspan(row * own, own);
  };
  if (ranks.rank() > 0) {
    gatherer.send(share.log_beta);
    for (std::size_t row = 0; row < rows; ++row) gatherer.send(row_of_cores(row));
  } else {
    SafetensorsWriter writer;
    writer.set_metadata("kind", kCpBridge);
    writer.add_made("log_beta", {gatherer.size()},
                    [&](const auto& take) { take(gatherer.receive(share.log_beta)); });
    writer.add_made("log_cores", {share.dim, share.num_categories, gatherer.size()},
                    [&](const auto& take) {
                      for (std::size_t row = 0; row < rows; ++row) {
                        take(gatherer.receive(row_of_cores(row)));
                      }
                    });
    writer.write(path);
  }
  ranks.barrier();
}

void save_cp_model(const Coupling& coupling, const std::filesystem::path& path) {
  save_bridges(coupling, path, add_cp_bridge);
}

std::shared_ptr<const Coupling> load_cp_model(const Context& context, const FitProblem& problem,
                                              const std::filesystem::path& path) {
  return load_bridges(context, problem, path, read_cp_bridge);
}

void CpBridgeSolver::save(const Coupling& coupling, const std::filesystem::path& path) const {
  save_cp_model(coupling, path);
}

std::shared_ptr<const Coupling> CpBridgeSolver::load(const Context& context,
                                                     const FitProblem& problem,
                                                     const std::filesystem::path& path) const {
  return load_cp_model(context, problem, path);
}

}  // namespace bridgemark
