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
std::string moves_name(const std::string& prefix) { return prefix + "source.log_moves"; }

void add_with_source(SafetensorsWriter& writer, const std::string& prefix, const Bridge& bridge,
                     const AddBridge& add) {
  add(writer, prefix, bridge);
  const SourceLaw* source = bridge.source();
  if (source == nullptr) return;
  const auto add_array = [&](const std::string& name, const Array3<double>& array) {
    writer.add(name, {array.extent(0), array.extent(1), array.extent(2)},
               std::span(array.data(), array.size()));
  };
  writer.add(weights_name(prefix), {source->num_components()}, std::span(source->log_weights()));
  add_array(cores_name(prefix), source->log_cores());
  if (source->chain() != nullptr) add_array(moves_name(prefix), source->log_moves());
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
  std::vector<double> log_weights = file.read_doubles(weights);
  Array3<double> log_cores(D, S, J, file.read_doubles(cores));
  const std::string moves = moves_name(prefix);
  if (!file.has(moves)) {
    return bridge->with_source(CpPotential(std::move(log_weights), std::move(log_cores)));
  }
  file.expect_shape(moves, {D - 1, J, J});
  return bridge->with_source(ChainPotential(std::move(log_weights),
                                            Array3<double>(D - 1, J, J, file.read_doubles(moves)),
                                            std::move(log_cores)));
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
