#include "bridgemark/solver/outside/python_solvers.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "bridgemark/core/error.h"
#include "bridgemark/core/version.h"
#include "bridgemark/io/json.h"

namespace bridgemark {

namespace {

constexpr char kVariable[] = "BRIDGEMARK_PYTHON";

std::string interpreter() {
  const char* given = std::getenv(kVariable);
  return given == nullptr || *given == '\0' ? "python3" : given;
}

// What Python says of the solvers it has; `name` is empty or of the one that is asked for.
nlohmann::json solvers_in_python(const std::string& name) {
  std::vector<std::string> arguments = {"describe-solvers"};
  if (!name.empty()) arguments.push_back(name);
  const ProgramAnswer answer = ask_python(arguments);
  if (answer.status != 0 && answer.complaint.starts_with("[solver]")) {
    throw InvalidArgument(message_text(answer.complaint));
  }
  const nlohmann::json said = answer.status == 0 ? parse_json(answer.out, interpreter()) : nullptr;
  const std::string version = said.is_object() ? said.value("version", "") : "";
  if (version == kVersion) return said;
  const std::string got = !version.empty()           ? version
                          : answer.complaint.empty() ? fmt::format("status {}", answer.status)
                                                     : answer.complaint;
  throw_invalid("solver", "{} must have the package of bridgemark {}, got {}; {} names another one",
                interpreter(), kVersion, got, kVariable);
}

// Where there is no such Python there are none. Asked once: it takes a start of Python.
const std::vector<std::string>& names_in_python() {
  static const std::vector<std::string> names = []() -> std::vector<std::string> {
    try {
      return solvers_in_python("").at("names");
    } catch (const Error&) {
      return {};
    }
  }();
  return names;
}

std::unique_ptr<OutsideSolver> find_in_python(const std::string& name) {
  if (!name.starts_with(kPythonPrefix)) {
    const std::vector<std::string>& names = names_in_python();
    if (std::ranges::find(names, name) == names.end()) return nullptr;
  }
  const std::string said = solvers_in_python(name).at("solver").dump();
  return std::make_unique<OutsideSolver>(name, parse_outside_description(name, said));
}

}  // namespace

std::vector<std::string> python_command() { return {interpreter(), "-m", "bridgemark"}; }

ProgramAnswer ask_python(const std::vector<std::string>& arguments,
                         const std::function<bool()>& stop) {
  std::vector<std::string> command = python_command();
  command.insert(command.end(), arguments.begin(), arguments.end());
  return ask_program(command, stop);
}

OutsideSolvers solvers_of_python() { return {.find = find_in_python, .names = names_in_python}; }

}  // namespace bridgemark
