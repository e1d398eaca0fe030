#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "bridgemark/bridge/bridge.h"
#include "bridgemark/bridge/coupling.h"
#include "bridgemark/core/context.h"
#include "bridgemark/io/safetensors.h"
#include "bridgemark/pair/fit_problem.h"

// The model file of a solver whose fits are bridges, or both bridges of a TwoWayBridge.
namespace bridgemark {

// The tensors of one bridge, their names behind a prefix.
using AddBridge =
    std::function<void(SafetensorsWriter& writer, const std::string& prefix, const Bridge& bridge)>;
using ReadBridge = std::function<std::shared_ptr<const Bridge>(
    const SafetensorsFile& file, const std::string& prefix, const ReferenceProcess& process,
    std::size_t dim)>;

// Beside the tensors of the bridge from x0 to x1, whose prefix is empty, and of the one from x1 to
// x0, "against.": of each that has a law of where it starts, source.log_weights [J],
// source.log_cores [D,S,J] and, of a chain, source.log_moves [D-1,J,J]; and of a TwoWayBridge
// answers [2], 1 where x1 given x0 and x0 given x1 are answered by the bridge against the question.
void save_bridges(const Coupling& coupling, const std::filesystem::path& path,
                  const AddBridge& add);

// Throws FileError where the file does not fit the problem.
std::shared_ptr<const Coupling> load_bridges(const Context& context, const FitProblem& problem,
                                             const std::filesystem::path& path,
                                             const ReadBridge& read);

}  // namespace bridgemark
