#include "bridgemark/solver/direction/bridge_file.h"

#include <span>
#include <utility>
#include <vector>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/two_way_bridge.h"

namespace bridgemark {

namespace {

constexpr char kAgainst[] = "against.";
constexpr char kAnswers[] = "answers";

std::string weights_name(const std::string& prefix) { return prefix + "source.log_weights"; }
std::string cores_name(const std::string& prefix) { return prefix + "source.log_cores"; }

void add_with_source(SafetensorsWriter& writer, const std::string& prefix, const Bridge& bridge,
                     const AddBridge& add) {
  add(writer, prefix, bridge);
  const CpPotential* source = bridge.source();
  if (source == nullptr) return;
  const Array3<double>& cores = source->log_cores();
  writer.add(weights_name(prefix), {source->num_components()}, std::span(source->log_beta()));
  writer.add(cores_name(prefix), {cores.extent(0), cores.extent(1), cores.extent(2)},
             std::span(cores.data(), cores.size()));
}

std::shared_ptr<const Bridge> read_with_source(const SafetensorsFile& file,
                                               const std::string& prefix,
                                               const ReferenceProcess& process, std::size_t dim,
                                               const ReadBridge& read) {
  std::shared_ptr<const Bridge> bridge = read(file, prefix, process, dim);
  const std::string weights = weights_name(prefix), cores = cores_name(prefix);
  if (!file.has(weights)) return bridge;
  if (file.shape(weights).size() != 1) {
    throw_file(file.path(), "tensor '{}' must have one axis", weights);
  }
  const std::size_t D = bridge->dim(), S = static_cast<std::size_t>(bridge->num_categories()),
                    J = file.shape(weights)[0];
  file.expect_shape(cores, {D, S, J});
  return bridge->with_source(
      CpPotential(file.read_doubles(weights), Array3<double>(D, S, J, file.read_doubles(cores))));
}

}  // namespace

void save_bridges(const Coupling& coupling, const std::filesystem::path& path,
                  const AddBridge& add) {
  SafetensorsWriter writer;
  std::vector<double> answers;
  if (const auto* two_way = dynamic_cast<const TwoWayBridge*>(&coupling)) {
    const TwoWayParts& parts = two_way->parts();
    if (parts.along) add_with_source(writer, "", *parts.along, add);
    if (parts.against) add_with_source(writer, kAgainst, *parts.against, add);
    answers = {parts.turned_forward ? 1.0 : 0.0, parts.turned_backward ? 1.0 : 0.0};
    writer.add(kAnswers, {answers.size()}, std::span<const double>(answers));
  } else {
    add_with_source(writer, "", dynamic_cast<const Bridge&>(coupling), add);
  }
  writer.write(path);
}

std::shared_ptr<const Coupling> load_bridges(const Context& context, const FitProblem& problem,
                                             const std::filesystem::path& path,
                                             const ReadBridge& read) {
  const SafetensorsFile file = SafetensorsFile::load(path);
  const ReferenceProcess process = problem.reference();
  const std::size_t dim = problem.dim();
  try {
    if (!file.has(kAnswers)) return read_with_source(file, "", process, dim, read);
    file.expect_shape(kAnswers, {2});
    const std::vector<double> answers = file.read_doubles(kAnswers);
    TwoWayParts parts;
    parts.turned_forward = answers[0] != 0.0;
    parts.turned_backward = answers[1] != 0.0;
    if (!parts.turned_forward || parts.turned_backward) {
      parts.along = read_with_source(file, "", process, dim, read);
    }
    if (parts.turned_forward || !parts.turned_backward) {
      parts.against = read_with_source(file, kAgainst, process.time_reversed(), dim, read);
    }
    return std::make_shared<TwoWayBridge>(context, std::move(parts));
  } catch (const InvalidArgument& error) {
    throw_file(path.string(), "{}", error.what());
  }
}

}  // namespace bridgemark
